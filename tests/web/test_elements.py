"""What can be acted on is found, named as people know it, and found again in the file."""

import pytest
from lxml.cssselect import CSSSelector

from gistread.errors import BookError
from gistread.web.model import Element, Operation, WebPage
from gistread.web.snippets import read_page
from gistread.web.tree import LIMIT_BYTES, tree_of
from tests.web.pages import BARE, SHOP


def page_of(body: str) -> WebPage:
    return read_page(f"<html><body>{body}</body></html>".encode(), "page.html")


def only(body: str) -> Element:
    (element,) = page_of(body).elements
    return element


def test_every_element_that_a_person_could_act_on_is_there_by_its_name() -> None:
    page = read_page(SHOP.encode(), "shop.html")
    assert page.title == "Kettle & Cup"
    assert [(one.role, one.name) for one in page.elements] == [
        ("link", "Home"),
        ("link", "Tea"),
        ("link", "Help"),
        ("search field", "Search the shop"),
        ("button", "Search"),
        ("link", "Red enamel kettle"),
        ("button", "Add to basket"),
        ("link", "Black iron kettle"),
        ("button", "Add to basket"),
        ("link", "Glass teapot"),
        ("email field", "Your email"),
        ("list", "Country"),
        ("checkbox", "I want news"),
        ("button", "Subscribe"),
        ("link", "Imprint"),
        ("link", "Privacy"),
        ("link", "Jobs"),
        ("button", "More"),
    ]
    assert page.elements[11].options == ("France", "Belgium")
    assert [one.index for one in page.elements] == list(range(1, 19))


def test_what_a_person_does_not_see_and_what_was_typed_is_not_told() -> None:
    told = "\n".join(snippet.text for snippet in read_page(SHOP.encode(), "shop.html").snippets)
    for unseen in ("hidden", "evil", "s3cret", "what a person typed", "Atlantis", "closed"):
        assert unseen not in told
    assert "value" not in dict(read_page(SHOP.encode(), "shop.html").elements[3].attributes)


def test_xpath_and_selector_of_each_select_it_alone_in_the_file() -> None:
    root = tree_of(SHOP.encode(), "shop.html")
    for element in read_page(SHOP.encode(), "shop.html").elements:
        (by_path,) = root.xpath(element.xpath)
        (by_selector,) = CSSSelector(element.css)(root)
        assert by_path is by_selector
        assert by_path.tag == element.tag


def test_they_hold_where_a_browser_puts_a_body_into_a_table() -> None:
    page = read_page(SHOP.encode(), "shop.html")
    as_in_a_browser = SHOP.replace("<table>", "<table><tbody>").replace("</table>", "</tbody></table>")
    root = tree_of(as_in_a_browser.encode(), "shop.html")
    for element in page.elements[14:17]:
        assert [node.text for node in root.xpath(element.xpath)] == [element.name]
        assert [node.text for node in CSSSelector(element.css)(root)] == [element.name]


@pytest.mark.parametrize(
    ("body", "role", "name", "operations"),
    [
        ('<a href="/x"><img src="x.png" alt="The basket"></a>', "link", "The basket", (Operation.CLICK,)),
        ('<a href="/checkout?x=1"></a>', "link", "/checkout", (Operation.CLICK,)),
        ('<div role="button" tabindex="0">Open</div>', "button", "Open", (Operation.CLICK,)),
        ('<span onclick="go()">Go on</span>', "button", "Go on", (Operation.CLICK,)),
        ('<button aria-label="Close">×</button>', "button", "Close", (Operation.CLICK,)),
        ('<b id="n">Your name</b><input aria-labelledby="n">', "text field", "Your name", None),
        ('<input placeholder="City">', "text field", "City", (Operation.TYPE, Operation.CLICK)),
        ('<input type="date" name="from">', "date field", "from", (Operation.TYPE, Operation.CLICK)),
        ('<div contenteditable="true" title="Letter"></div>', "text field", "Letter", None),
        ("<label>Size <select><option>S</option></select></label>", "list", "Size", (Operation.SELECT,)),
        ('<input type="submit">', "button", "submit", (Operation.CLICK,)),
    ],
)
def test_an_element_is_what_it_is_to_a_person(
    body: str, role: str, name: str, operations: tuple[Operation, ...] | None
) -> None:
    element = only(body)
    assert (element.role, element.name) == (role, name)
    if operations is not None:
        assert element.operations == operations


@pytest.mark.parametrize("name", ["o'clock", 'a"b', "1", "ü-b", "a b", "a.b:c"])
def test_an_id_of_any_kind_is_written_so_that_it_selects(name: str) -> None:
    quoted = name.replace('"', "&quot;")
    body = f'<o:p id="{quoted}"><i>x</i><a href="/1">One</a><a href="/2">Two</a></o:p>'
    root = tree_of(f"<html><body>{body}</body></html>".encode(), "page.html")
    for element in page_of(body).elements:
        assert [node.text for node in root.xpath(element.xpath)] == [element.name]
        assert [node.text for node in CSSSelector(element.css)(root)] == [element.name]


def test_a_box_that_can_be_clicked_and_holds_links_is_told_beside_them() -> None:
    page = page_of('<div onclick="open()" title="Card"><a href="/1">One</a> and <a href="/2">Two</a></div>')
    assert [one.name for one in page.elements] == ["Card", "One", "Two"]
    assert page.snippets[0].text == '[1] button "Card" [2] link "One" and [3] link "Two"'


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is empty"),
        (b"\x00\x01\x02\x03" * 50, "not an HTML page"),
        (b"only words", "not an HTML page"),
        (BARE.encode(), "page.html has no link"),
        (b" " * (LIMIT_BYTES + 1), "larger than"),
    ],
)
def test_what_is_no_page_to_act_on_is_refused_in_words(data: bytes, says: str) -> None:
    with pytest.raises(BookError, match=says):
        read_page(data, "page.html")
