"""What can be acted on is found, named as people know it, and found again in the file."""

from typing import Any

import pytest
from lxml import etree

from gistread.errors import BookError
from research.web.model import Element, Operation, WebPage
from research.web.snippets import read_page
from tests.research.web.pages import BARE, SHOP


def page_of(body: str) -> WebPage:
    return read_page(f"<html><body>{body}</body></html>".encode(), "page.html")


def only(body: str) -> Element:
    (element,) = page_of(body).elements
    return element


def test_every_element_that_a_person_could_act_on_is_there_by_its_name() -> None:
    page = read_page(SHOP.encode(), "shop.html")
    assert page.title == "Kettle & Cup"
    assert [(element.role, element.name) for element in page.elements] == [
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
    assert [element.index for element in page.elements] == list(range(1, 19))


def test_what_a_person_does_not_see_and_what_was_typed_is_not_told() -> None:
    visible = "\n".join(
        snippet.text for snippet in read_page(SHOP.encode(), "shop.html").snippets
    )
    for unseen in (
        "hidden",
        "evil",
        "s3cret",
        "what a person typed",
        "Atlantis",
        "closed",
    ):
        assert unseen not in visible
    assert "value" not in dict(
        read_page(SHOP.encode(), "shop.html").elements[3].attributes
    )


def test_the_xpath_of_each_selects_it_alone_in_the_file() -> None:
    root = etree.HTML(SHOP)
    for element in read_page(SHOP.encode(), "shop.html").elements:
        nodes: Any = root.xpath(element.xpath)
        (node,) = nodes
        assert node.tag == element.tag


@pytest.mark.parametrize(
    ("body", "role", "name", "operations"),
    [
        (
            '<a href="/x"><img src="x.png" alt="The basket"></a>',
            "link",
            "The basket",
            (Operation.CLICK,),
        ),
        ('<a href="/checkout?x=1"></a>', "link", "/checkout?x=1", (Operation.CLICK,)),
        (
            '<div role="button" tabindex="0">Open</div>',
            "button",
            "Open",
            (Operation.CLICK,),
        ),
        ('<span onclick="go()">Go on</span>', "button", "Go on", (Operation.CLICK,)),
        (
            '<button aria-label="Close">×</button>',
            "button",
            "Close",
            (Operation.CLICK,),
        ),
        (
            '<input placeholder="City">',
            "text field",
            "City",
            (Operation.TYPE, Operation.CLICK),
        ),
        (
            '<input type="date" name="from">',
            "date field",
            "from",
            (Operation.TYPE, Operation.CLICK),
        ),
        (
            '<div contenteditable="true" title="Letter"></div>',
            "text field",
            "Letter",
            (Operation.TYPE, Operation.CLICK),
        ),
        (
            "<label>Size <select><option>S</option></select></label>",
            "list",
            "Size",
            (Operation.SELECT,),
        ),
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


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "not an HTML page"),
        (b"\x00\x01\x02\x03" * 50, "not an HTML page"),
        (b"only words", "not an HTML page"),
        (BARE.encode(), "page.html has no link"),
    ],
)
def test_what_is_no_page_to_act_on_is_refused_in_words(data: bytes, says: str) -> None:
    with pytest.raises(BookError, match=says):
        read_page(data, "page.html")
