-- The user's data. Every table has an integer `id`, by which the rows around a damaged page are found.
-- `sha256` is that of a book's text.

CREATE TABLE IF NOT EXISTS texts (
    id INTEGER PRIMARY KEY, sha256 TEXT NOT NULL UNIQUE, title TEXT NOT NULL DEFAULT '',
    authors TEXT NOT NULL DEFAULT '[]', path TEXT NOT NULL DEFAULT '', file TEXT NOT NULL DEFAULT '',
    length INTEGER NOT NULL DEFAULT 0, opened_at REAL NOT NULL DEFAULT 0,
    position INTEGER NOT NULL DEFAULT 0, place TEXT NOT NULL DEFAULT '{}', zoom TEXT NOT NULL DEFAULT '',
    bound TEXT NOT NULL DEFAULT '{}', along TEXT NOT NULL DEFAULT '{}');

CREATE TABLE IF NOT EXISTS days (
    id INTEGER PRIMARY KEY, sha256 TEXT NOT NULL REFERENCES texts (sha256), day TEXT NOT NULL,
    words REAL NOT NULL, seconds REAL NOT NULL, UNIQUE (sha256, day));

CREATE TABLE IF NOT EXISTS questions (
    id INTEGER PRIMARY KEY, sha256 TEXT NOT NULL REFERENCES texts (sha256), asked_at REAL NOT NULL,
    question TEXT NOT NULL, thread REAL NOT NULL, answer TEXT NOT NULL, details TEXT NOT NULL,
    UNIQUE (sha256, asked_at, question));

CREATE TABLE IF NOT EXISTS threads (
    id INTEGER PRIMARY KEY, sha256 TEXT NOT NULL REFERENCES texts (sha256), thread REAL NOT NULL,
    name TEXT NOT NULL, UNIQUE (sha256, thread));

CREATE TABLE IF NOT EXISTS names (
    id INTEGER PRIMARY KEY, sha256 TEXT NOT NULL REFERENCES texts (sha256), made_at REAL NOT NULL,
    correction TEXT NOT NULL, undone INTEGER NOT NULL DEFAULT 0, UNIQUE (sha256, made_at));

-- A mark without details was removed.
CREATE TABLE IF NOT EXISTS marks (
    id INTEGER PRIMARY KEY, sha256 TEXT NOT NULL REFERENCES texts (sha256), mark TEXT NOT NULL,
    changed_at REAL NOT NULL, details TEXT, UNIQUE (sha256, mark));

CREATE TABLE IF NOT EXISTS files (
    id INTEGER PRIMARY KEY, digest TEXT NOT NULL UNIQUE, sha256 TEXT NOT NULL, recorded_at REAL NOT NULL,
    path TEXT NOT NULL, details TEXT NOT NULL);

CREATE TABLE IF NOT EXISTS folders (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE);

CREATE TABLE IF NOT EXISTS removed (id INTEGER PRIMARY KEY, book TEXT NOT NULL UNIQUE, removed_at REAL NOT NULL);

-- Files of earlier versions lack this table.
CREATE TABLE IF NOT EXISTS tags (
    id INTEGER PRIMARY KEY, book TEXT NOT NULL, tag TEXT NOT NULL, UNIQUE (book, tag));

-- Files of earlier versions lack this table.
CREATE TABLE IF NOT EXISTS numbers (
    id INTEGER PRIMARY KEY, book TEXT NOT NULL UNIQUE, number INTEGER NOT NULL);

CREATE TABLE IF NOT EXISTS reading_speed (
    id INTEGER PRIMARY KEY, language TEXT NOT NULL, words REAL NOT NULL, seconds REAL NOT NULL);

CREATE TABLE IF NOT EXISTS model_pace (
    id INTEGER PRIMARY KEY, model TEXT NOT NULL, work TEXT NOT NULL, words REAL NOT NULL, seconds REAL NOT NULL,
    UNIQUE (model, work));

CREATE TABLE IF NOT EXISTS checks (
    id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL, library TEXT NOT NULL, path TEXT NOT NULL,
    size INTEGER NOT NULL, modified_ns INTEGER NOT NULL, verdict TEXT NOT NULL, UNIQUE (fingerprint, library));

-- Files of earlier versions lack this table.
CREATE TABLE IF NOT EXISTS asking (
    id INTEGER PRIMARY KEY, sha256 TEXT NOT NULL UNIQUE REFERENCES texts (sha256), choice TEXT NOT NULL);

-- Files of earlier versions lack this table.
CREATE TABLE IF NOT EXISTS sync_queue (
    id INTEGER PRIMARY KEY, account TEXT NOT NULL, document TEXT NOT NULL, place TEXT NOT NULL,
    queued_at REAL NOT NULL, UNIQUE (account, document));

-- Files of 0.2 to import later
CREATE TABLE IF NOT EXISTS unread (id INTEGER PRIMARY KEY, file TEXT NOT NULL UNIQUE);
