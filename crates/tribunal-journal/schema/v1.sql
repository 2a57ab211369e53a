-- Version 1 of a run's journal. Released: never edit; a change is a new file, v2.sql, and a line in src/schema.rs.

-- Which run this is. Exactly one row, written with the schema itself.
CREATE TABLE head (
    only            INTEGER PRIMARY KEY CHECK (only = 1),
    run_id          TEXT    NOT NULL,
    product_version TEXT    NOT NULL,
    created_at      INTEGER NOT NULL
) STRICT;

-- The facts. `seq` counts rows from 1 without a gap; `turn` counts transactions' turns from 1 without a gap.
CREATE TABLE events (
    seq     INTEGER PRIMARY KEY,
    turn    INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    machine TEXT    NOT NULL,
    kind    TEXT    NOT NULL,
    body    TEXT    NOT NULL CHECK (json_valid(body))
) STRICT;

-- Letters from other processes. The first letter with a key is the only one with that key.
CREATE TABLE mail (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    key  TEXT    NOT NULL UNIQUE,
    kind TEXT    NOT NULL,
    body TEXT    NOT NULL CHECK (json_valid(body)),
    at   INTEGER NOT NULL,
    done INTEGER NOT NULL DEFAULT 0 CHECK (done IN (0, 1))
) STRICT;

CREATE INDEX mail_open ON mail (id) WHERE done = 0;

-- Append-only, enforced here and not only in code. The insert trigger also stops INSERT OR REPLACE, which
-- would delete a row without firing the delete trigger.
CREATE TRIGGER events_in_order BEFORE INSERT ON events
WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM events)
  OR NEW.turn - coalesce((SELECT turn FROM events ORDER BY seq DESC LIMIT 1), 0) NOT IN (0, 1)
  OR NEW.turn < 1
BEGIN SELECT RAISE(ABORT, 'events are appended in order'); END;

CREATE TRIGGER events_keep BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END;

CREATE TRIGGER events_fixed BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'events are never changed'); END;

CREATE TRIGGER head_once BEFORE INSERT ON head
WHEN EXISTS (SELECT 1 FROM head)
BEGIN SELECT RAISE(ABORT, 'the head is written once'); END;

CREATE TRIGGER head_keep BEFORE DELETE ON head
BEGIN SELECT RAISE(ABORT, 'the head is never deleted'); END;

CREATE TRIGGER head_fixed BEFORE UPDATE ON head
BEGIN SELECT RAISE(ABORT, 'the head is never changed'); END;

CREATE TRIGGER mail_keep BEFORE DELETE ON mail
BEGIN SELECT RAISE(ABORT, 'letters are never deleted'); END;

-- The one change a letter sees is being marked as read. REPLACE is stopped here too.
CREATE TRIGGER mail_fixed BEFORE UPDATE ON mail
WHEN NEW.id IS NOT OLD.id OR NEW.key IS NOT OLD.key OR NEW.kind IS NOT OLD.kind
  OR NEW.body IS NOT OLD.body OR NEW.at IS NOT OLD.at OR NEW.done < OLD.done
BEGIN SELECT RAISE(ABORT, 'letters are never changed'); END;

CREATE TRIGGER mail_first BEFORE INSERT ON mail
WHEN EXISTS (SELECT 1 FROM mail WHERE key = NEW.key OR id = NEW.id)
BEGIN SELECT RAISE(IGNORE); END;

-- Views for people with an SQL shell come here, each in the version that first has the facts it shows.
