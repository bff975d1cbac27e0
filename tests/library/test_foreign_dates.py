"""Dates as e-readers write them."""

from datetime import UTC, datetime

import pytest

from gistread.library.foreign_dates import seconds_of

MORNING = datetime(2024, 3, 4, 9, 8, 7)
EVENING = datetime(2024, 3, 4, 21, 8, 7)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("Added on Monday, 4 March 2024 09:08:07", MORNING),
        ("Added on Monday, March 4, 2024 9:08:07 AM", MORNING),
        ("Added on Monday, March 4, 2024, 9:08:07 PM", EVENING),
        ("Hinzugefügt am Montag, 4. März 2024 09:08:07", MORNING),
        ("Ajouté le lundi 4 mars 2024 21:08:07", EVENING),
        ("Añadido el lunes, 4 de marzo de 2024 21:08:07", EVENING),
        ("Aggiunto in data lunedì 4 marzo 2024 21:08:07", EVENING),
        ("Adicionado: segunda-feira, 4 de março de 2024 21:08:07", EVENING),
        ("Toegevoegd op maandag 4 maart 2024 21:08:07", EVENING),
        ("Добавлено: понедельник, 4 марта 2024 г. в 21:08:07", EVENING),
        ("作成日: 2024年3月4日月曜日 21:08:07", EVENING),
        ("添加于 2024年3月4日星期一 下午9:08:07", EVENING),
        ("添加于 2024年3月4日星期一 上午9:08:07", MORNING),
        ("2024-03-04 21:08:07", EVENING),
    ],
)
def test_dates_of_many_languages(written: str, expected: datetime) -> None:
    assert seconds_of(written) == expected.timestamp()


def test_midnight_and_noon() -> None:
    day = "Added on Monday, March 4, 2024 12:00:00"
    assert seconds_of(f"{day} PM") - seconds_of(f"{day} AM") == 12 * 3600


def test_a_time_with_a_zone_is_that_moment() -> None:
    expected = datetime(2021, 5, 23, 15, 33, tzinfo=UTC).timestamp()
    assert seconds_of("2021-05-23 15:33:00+00:00") == expected
    assert seconds_of(expected) == expected


@pytest.mark.parametrize(
    "written", ["", None, "some day", "Added on 99 March 2024", "4 Foo 2024"]
)
def test_what_is_no_date_is_unknown(written: object) -> None:
    assert seconds_of(written) == 0.0


@pytest.mark.parametrize(
    ("number", "seconds"),
    [
        (1_709_547_010, 1_709_547_010.0),
        (1_709_547_010_000, 1_709_547_010.0),
        (-5, 0.0),
        (1e400, 0.0),
        (float("nan"), 0.0),
        (10**400, 0.0),
    ],
)
def test_numbers_are_seconds_or_milliseconds_of_a_calendar(
    number: float, seconds: float
) -> None:
    assert seconds_of(number) == seconds
