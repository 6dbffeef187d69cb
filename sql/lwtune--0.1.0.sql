/* sql/lwtune--0.1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION lwtune" to load this file. \quit

CREATE FUNCTION lwtune_status(
    OUT function text,
    OUT state text,
    OUT reason text,
    OUT calls bigint
)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'lwtune_status_1_0'
LANGUAGE C STRICT VOLATILE PARALLEL SAFE;

CREATE VIEW lwtune_status AS
  SELECT * FROM lwtune_status();

CREATE FUNCTION lwtune_settings(
    OUT tranche text,
    OUT setting text,
    OUT value text,
    OUT source text,
    OUT learned text,
    OUT matched boolean
)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'lwtune_settings_1_0'
LANGUAGE C STRICT VOLATILE PARALLEL SAFE;

CREATE VIEW lwtune_settings AS
  SELECT * FROM lwtune_settings();

CREATE FUNCTION lwtune_stats(
    OUT tranche text,
    OUT ex_acquire_count bigint,
    OUT sh_acquire_count bigint,
    OUT conditional_fail_count bigint,
    OUT spin_acquire_count bigint,
    OUT spin_fail_count bigint,
    OUT block_count bigint,
    OUT dequeue_self_count bigint,
    OUT spin_delay_count bigint,
    OUT wait_time double precision,
    OUT max_wait_time double precision,
    OUT stats_reset timestamptz
)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'lwtune_stats_1_0'
LANGUAGE C STRICT VOLATILE PARALLEL SAFE;

CREATE VIEW lwtune_stats AS
  SELECT tranche, sh_acquire_count, ex_acquire_count, conditional_fail_count,
         spin_acquire_count, spin_fail_count, block_count, dequeue_self_count,
         spin_delay_count, wait_time, max_wait_time, stats_reset
    FROM lwtune_stats();

GRANT SELECT ON lwtune_status, lwtune_settings, lwtune_stats TO PUBLIC;

CREATE FUNCTION lwtune_reset(tranche text DEFAULT NULL)
RETURNS void
AS 'MODULE_PATHNAME', 'lwtune_reset_1_0'
LANGUAGE C CALLED ON NULL INPUT VOLATILE PARALLEL SAFE;

REVOKE ALL ON FUNCTION lwtune_reset(text) FROM PUBLIC;
