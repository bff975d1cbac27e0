-- The index of the library, in place of one of another version.

DROP TABLE IF EXISTS books;

DROP TABLE IF EXISTS stems;

CREATE TABLE books (
    id INTEGER PRIMARY KEY AUTOINCREMENT, digest TEXT NOT NULL UNIQUE, sha256 TEXT NOT NULL,
    length INTEGER NOT NULL, plot INTEGER NOT NULL, language TEXT NOT NULL, chapters TEXT NOT NULL,
    spans BLOB NOT NULL);

CREATE VIRTUAL TABLE stems USING fts5(
    words, content = '', detail = none, columnsize = 0,
    tokenize = "unicode61 remove_diacritics 0 tokenchars ''''");
