"""Small pages of the web, as people save them."""

SHOP = """<!doctype html><html><head><title>Kettle &amp; Cup</title>
<script>document.write("<a href=evil>no</a>")</script></head><body>
<header><nav><ul>
<li><a href="/">Home</a></li><li><a href="/tea">Tea</a></li><li><a href="/help">Help</a></li></ul>
<form action="/search"><label for="q">Search the shop</label>
<input id="q" type="search" name="q" value="what a person typed"><button>Search</button></form>
</nav></header>
<main><h1>Welcome</h1><p>{words}</p>
<section id="offers"><h2>Offers of the week</h2>
<article><h3><a href="/p/1">Red enamel kettle</a></h3><p>1.5 litres, 28 euros.</p>
<button>Add to basket</button></article>
<article><h3><a href="/p/2">Black iron kettle</a></h3><p>1 litre, 64 euros.</p>
<button>Add to basket</button></article>
<article><h3><a href="/p/3">Glass teapot</a></h3><p>19 euros.</p>
<button disabled>Sold out</button></article></section>
<section><h2>Newsletter</h2><form><label>Your email <input type=email name=email></label>
<label>Country <select name=c>
<option>France</option><option>Belgium</option><option disabled>Atlantis</option></select>
</label><input type=checkbox id=ok><label for=ok>I want news</label>
<input type=hidden name=csrf value=s3cret>
<input type=submit value="Subscribe"></form></section></main>
<table><tr><td><a href="/imprint">Imprint</a></td><td><a href="/privacy">Privacy</a></td></tr>
<tr><td><a href="/jobs">Jobs</a></td></tr></table>
<div style="color: red; display:none"><a href="/hidden">hidden</a></div>
<details><summary>More</summary><a href="/more">closed</a></details>
<fieldset disabled><button>Dead</button></fieldset></body></html>""".format(
    words=" ".join(
        f"Our tea bar number {n} pours until eight o'clock on every day but Sunday."
        for n in range(8)
    )
)

BARE = "<html><body><p>There is nothing to do here.</p></body></html>"
