"""Tables of a PDF whose cells have several lines, and readings over East Asian characters."""

from tests.book.make_pdf import Put, Sheet, read


def test_columns_of_short_cells_are_read_row_by_row() -> None:
    columns = ["Name", "Born", "Died"], ["Ann Lee", "1736", "1784"]
    puts = [Put(50 + 90 * x, 500 - 12 * y, text) for x, cells in enumerate(columns) for y, text in enumerate(cells)]
    assert read(Sheet(puts)).text.split() == ["Name", "Ann", "Lee", "Born", "1736", "Died", "1784"]


def test_readings_over_characters_are_left_out() -> None:
    base = [Put(50, 500 - 14 * number, "o" * 9, 10, actual="吾輩は猫であるとか") for number in range(3)]
    readings = [Put(50, 509, "oooo", 5, actual="わがはい"), Put(65, 509, "oo", 5, actual="ねこ")]
    book = read(Sheet([*base, *readings]))
    assert book.text == "吾輩は猫であるとか" * 3
    assert book.notices == ("2 readings of characters were left out.",)
