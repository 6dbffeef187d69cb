/*-------------------------------------------------------------------------
 *
 * policy_parse.h
 *	  Per-tranche settings: from a list's text to values and back.
 *
 * A list is at most one plain value, the default for all tranches, and any
 * number of tranche:value pairs, separated by commas:
 *
 *		list	:=	element { "," element }
 *		element	:=	value  |  name ":" value
 *		name	:=	[A-Za-z_][A-Za-z0-9_.$-]*  |  '"' any bytes, "" for a quote '"'
 *
 * White space around elements, names and values is ignored.  Names compare
 * without regard to ASCII case, quoted or not, and have 1 to NAMEDATALEN - 1
 * bytes.  What a value may be depends on the kind of the setting:
 *
 *		spin time	0, a decimal number with a unit that PostgreSQL knows, up to
 *					10ms, or auto; kept as whole nanoseconds
 *		count		a decimal whole number from -1 to 262143
 *
 * Include postgres.h first.
 *
 *-------------------------------------------------------------------------
 */
#ifndef POLICY_PARSE_H
#define POLICY_PARSE_H

#include "local.h"

LWTUNE_BEGIN_LOCAL

/*
 * Bounds on what a list may hold.  An element with its comma takes four bytes
 * or more, so that any list of 16 kB fits whatever its elements are.
 */
#define POLICY_MAX_TEXT			65536
#define POLICY_MAX_ELEMENTS		4096

/* Room for any message or hint of policy_parse() in full. */
#define POLICY_MESSAGE_SIZE		512

/* Room for any text of policy_format_value(). */
#define POLICY_VALUE_SIZE		32

/* Spin times are in nanoseconds, but for this one. */
#define POLICY_SPIN_AUTO		INT64CONST(-1)
#define POLICY_SPIN_MAX			INT64CONST(10000000)

/* Counts: -1 is as many as there are processors less one. */
#define POLICY_COUNT_PROCESSORS (-1)
#define POLICY_COUNT_MAX		262143

typedef enum PolicyKind
{
	POLICY_KIND_SPIN_TIME,
	POLICY_KIND_COUNT
} PolicyKind;

typedef struct PolicyElement
{
	int64		value;
	char		name[NAMEDATALEN];	/* as written, without its quotes */
} PolicyElement;

/*
 * One block from malloc(), without pointers, so that it can be the "extra" of
 * a setting: PostgreSQL 15 frees that with free().
 */
typedef struct PolicyList
{
	bool		has_default;
	int64		default_value;	/* if has_default, else 0 */
	int			nelements;
	PolicyElement elements[FLEXIBLE_ARRAY_MEMBER];	/* in the order written */
} PolicyList;

/*
 * Returns NULL for a text that is refused, with a full sentence that names
 * the offending element in errbuf and what to do about it in hintbuf (empty
 * when memory ran out).  Both are empty after success.
 */
extern PolicyList *policy_parse(PolicyKind kind, const char *text,
								char *errbuf, size_t errlen,
								char *hintbuf, size_t hintlen);

/*
 * The tranche's own element, or NULL; the default is the caller's to apply.
 */
extern const PolicyElement *policy_lookup(const PolicyList *list,
										  const char *tranche);

/* Names of tranches compare in ASCII case, whatever the locale. */
extern bool policy_names_equal(const char *a, const char *b);

/* A text that policy_parse() turns into the same value. */
extern void policy_format_value(PolicyKind kind, int64 value,
								char *buf, size_t buflen);

LWTUNE_END_LOCAL

#endif							/* POLICY_PARSE_H */
