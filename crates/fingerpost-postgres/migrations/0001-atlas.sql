-- What a store keeps: a head, blobs in pieces, logs, claims. Every row names its atlas first, and a record
-- of a skill's page names the skill, so that a distributed PostgreSQL can spread rows and keep together
-- what belongs together.

CREATE TABLE atlas (
    atlas integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    made timestamptz NOT NULL DEFAULT now()
);

-- One row an atlas: which blobs count. Replaced only by whoever names the digest that stands there.
CREATE TABLE head (
    atlas integer PRIMARY KEY,
    digest bytea NOT NULL,
    bytes bytea NOT NULL,
    committed timestamptz NOT NULL DEFAULT now()
);

-- Bytes are never changed under a number: a blob that is made again gets another one.
CREATE SEQUENCE blob_number;

CREATE TABLE blob (
    atlas integer NOT NULL,
    name text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    length bigint NOT NULL,
    digest bytea NOT NULL,
    made timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (atlas, name)
);

CREATE TABLE piece (
    atlas integer NOT NULL,
    number bigint NOT NULL,
    part integer NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (atlas, number, part)
);

-- What is inside is packed already, or read by numbers: packing it again costs time and saves nothing.
ALTER TABLE piece ALTER COLUMN bytes SET STORAGE EXTERNAL;

-- One row a log. Whoever appends holds it until the commit, so that numbers are in the order of commits.
CREATE TABLE log (
    atlas integer NOT NULL,
    log text NOT NULL,
    last bigint NOT NULL DEFAULT 0,
    changes bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (atlas, log)
);

-- `skill` is empty where a record is of no one skill. `token` tells whoever lost the connection at the
-- commit whether the records are theirs.
CREATE TABLE record (
    atlas integer NOT NULL,
    log text NOT NULL,
    number bigint NOT NULL,
    skill text COLLATE "C" NOT NULL,
    token bytea NOT NULL,
    bytes bytea NOT NULL,
    appended timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (atlas, log, number, skill)
);

-- A claim holds until `until`, by the server's clock, and is renewed while its holder lives.
CREATE TABLE claim (
    atlas integer NOT NULL,
    work text NOT NULL,
    token bytea NOT NULL,
    holder text NOT NULL,
    until timestamptz NOT NULL,
    PRIMARY KEY (atlas, work)
);
