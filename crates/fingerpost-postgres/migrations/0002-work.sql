-- Writing by many workers: what is to be written, in units that one worker holds for a while, and the calls
-- that it takes. One row of work carries the limits that all workers share: whoever is about to ask a model
-- holds it for a moment.

CREATE TABLE work (
    atlas integer NOT NULL,
    number bigint NOT NULL,
    -- The model with its settings, and which pages are written again.
    writer text NOT NULL,
    again text NOT NULL,
    max_cost double precision,
    max_requests bigint,
    requests_per_minute integer,
    tokens_per_minute integer,
    -- When the next request may leave.
    next_request timestamptz NOT NULL DEFAULT '-infinity',
    next_token timestamptz NOT NULL DEFAULT '-infinity',
    requests bigint NOT NULL DEFAULT 0,
    answered bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0,
    surplus bigint NOT NULL DEFAULT 0,
    input bigint NOT NULL DEFAULT 0,
    cached bigint NOT NULL DEFAULT 0,
    output bigint NOT NULL DEFAULT 0,
    cost double precision NOT NULL DEFAULT 0,
    made timestamptz NOT NULL DEFAULT now(),
    closed timestamptz,
    PRIMARY KEY (atlas, number)
);

-- One is open at a time.
CREATE UNIQUE INDEX work_open ON work (atlas) WHERE closed IS NULL;

-- A unit is somebody's until `until`, by the server's clock, and is done for good with its pages. Whoever
-- comes back late finds another token.
CREATE TABLE unit (
    atlas integer NOT NULL,
    work bigint NOT NULL,
    unit text COLLATE "C" NOT NULL,
    place integer NOT NULL,
    skill text COLLATE "C" NOT NULL,
    pages integer NOT NULL,
    token bytea,
    worker text,
    since timestamptz,
    until timestamptz,
    done timestamptz,
    taken integer NOT NULL DEFAULT 0,
    calls bigint NOT NULL DEFAULT 0,
    cost double precision NOT NULL DEFAULT 0,
    written integer NOT NULL DEFAULT 0,
    fallback integer NOT NULL DEFAULT 0,
    PRIMARY KEY (atlas, work, unit)
);

CREATE INDEX unit_left ON unit (atlas, work, place) WHERE done IS NULL;

-- Requests whose end is not known: under way, or never heard of again. What each may cost at most counts as
-- spent until its end is known.
CREATE TABLE call (
    atlas integer NOT NULL,
    call text COLLATE "C" NOT NULL,
    work bigint NOT NULL,
    unit text COLLATE "C" NOT NULL,
    worker text NOT NULL,
    most double precision NOT NULL,
    tokens bigint NOT NULL,
    turn timestamptz NOT NULL,
    begun timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (atlas, call)
);

CREATE INDEX call_work ON call (atlas, work);
