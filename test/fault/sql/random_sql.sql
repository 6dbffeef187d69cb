-- What random SQL has to play with: pgbench's tables, and one of each kind that
-- reaches other code.  Its role may read statistics, and is no superuser, or it
-- would find ways to break any server.
GRANT pg_monitor TO loader;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO loader;
GRANT CREATE ON SCHEMA public TO loader;
SET ROLE loader;

CREATE TYPE mood AS ENUM ('calm', 'locked', 'spinning');
CREATE TABLE many (
	id int PRIMARY KEY, a int, b bigint, c numeric, d text, e timestamptz, f mood, g int[], h jsonb,
	i point, j inet, k bytea, l int4range);
INSERT INTO many
SELECT i, i % 10, i * 1000003::bigint, i / 7.0, repeat('x', i % 50), now() - i * interval '1 h',
	('{calm,locked,spinning}'::mood[])[1 + i % 3], ARRAY[i, i + 1], jsonb_build_object('i', i),
	point(i, -i), '10.0.0.0'::inet + i, decode(md5(i::text), 'hex'), int4range(i, i + 10)
FROM generate_series(1, 2000) AS i;
CREATE INDEX ON many (a, b);
CREATE INDEX ON many USING hash (d);
CREATE INDEX ON many USING gist (i);
CREATE INDEX ON many USING gin (h);
CREATE INDEX ON many USING brin (e);

CREATE TABLE parts (id int, a int, b text) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (1000);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (1000) TO (2000);
INSERT INTO parts SELECT i, i % 7, md5(i::text) FROM generate_series(0, 1999) AS i;
CREATE INDEX ON parts (a);

CREATE TABLE child (id int, parent int REFERENCES many ON DELETE CASCADE, note text);
INSERT INTO child SELECT i, 1 + i % 2000, 'n' || i FROM generate_series(1, 3000) AS i;
CREATE VIEW both_of_them AS SELECT m.id, m.d, c.note FROM many AS m JOIN child AS c ON c.parent = m.id;
CREATE SEQUENCE counting;
RESET ROLE;
ANALYZE;
