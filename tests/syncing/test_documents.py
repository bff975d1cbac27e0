"""The names of books, as KOReader computes them."""

from pathlib import Path

import pytest

from gistread.syncing.documents import content_id, name_id

# From https://github.com/pid1/kosync-conformance (CC0), where KOReader's own code made them
VECTORS = {
    500: "21f0df72cce9bc7da8dae2512ee5feed",
    1_024: "f4cd1641040a17288bb6104d9e66bdb5",
    1_025: "170a888db01c00d8fc3e5d8d84de5838",
    3_000: "d0e59a0c7b893c3b8d6a9bddbd64e631",
    200_000: "1784b150454ef4cf6780ceb94af0386f",
    1_050_000: "0fca5c751677ecbc2dcfe80ea75ace32",
}


@pytest.mark.parametrize("size", VECTORS)
def test_the_partial_md5_is_that_of_koreader(size: int, tmp_path: Path) -> None:
    path = tmp_path / "book"
    path.write_bytes(bytes((index * 31 + (index >> 8)) % 256 for index in range(size)))
    assert content_id(path) == VECTORS[size]


def test_every_sample_of_a_large_file_counts(tmp_path: Path) -> None:
    path = tmp_path / "book"
    with path.open("wb") as file:  # Sparse: it takes little room
        for offset in (0, *(1024 * 4**power for power in range(11))):
            file.seek(offset)
            file.write(b"%016d" % offset)
        file.truncate(1_073_742_848)
    assert content_id(path) == "266ff27c24919f4cec96f90f9b3231ca"


def test_by_name_the_folder_does_not_matter(tmp_path: Path) -> None:
    assert name_id(tmp_path / "Emma.epub") == name_id(Path("Emma.epub"))
    assert name_id(Path("Emma.epub")) == "c154c86c46528e8335b4f079dfeca5fc"
