/*-------------------------------------------------------------------------
 *
 * policy_parse.c
 *	  Per-tranche settings: from a list's text to values and back.
 *
 * Called from check hooks, in any process and before there is a memory
 * context to trust, and linked into the host tests: so nothing here calls
 * palloc() or ereport().  A list is read in one pass; the one allocation is
 * sized from the number of commas beforehand.
 *
 * Letters are folded as ASCII, never by locale: a list must mean the same in
 * every process, whatever database it is connected to.
 *
 * To add a kind of value: one PolicyKind, one entry in policy_kinds[], and
 * the two functions that it names.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "mb/pg_wchar.h"
#include "utils/guc.h"

#include "policy_parse.h"

/* Longest excerpt of an element in a message, in bytes. */
#define EXCERPT_MAX			96

/* No well-formed value is longer, its zero byte included. */
#define VALUE_MAX			64

/* Open addressing, never more than half full. */
#define NSLOTS				(2 * POLICY_MAX_ELEMENTS)

StaticAssertDecl((NSLOTS & (NSLOTS - 1)) == 0,
				 "number of slots must be a power of two");
StaticAssertDecl(POLICY_MAX_ELEMENTS < PG_UINT16_MAX,
				 "slots must be able to hold any element's number");

typedef struct Parser
{
	const struct KindEntry *kind;
	char	   *errbuf;
	size_t		errlen;
	char	   *hintbuf;
	size_t		hintlen;

	/* the element at hand, without the white space around it */
	int			number;			/* from 1 */
	const char *element;
	const char *element_end;
	const char *after_quote;	/* past a quoted name, NULL if not closed */

	/* element number plus one by hash of its name, to find repeated ones */
	uint16		slots[NSLOTS];
} Parser;

typedef struct KindEntry
{
	bool		(*parse) (Parser *parser, const char *value, int64 *result);
	void		(*format) (int64 value, char *buf, size_t buflen);
	const char *builtin;		/* what the setting is when nobody sets it */
	const char *usage;			/* hint that tells what a value may be */
} KindEntry;

static bool parse_spin_time(Parser *parser, const char *value, int64 *result);
static void format_spin_time(int64 value, char *buf, size_t buflen);
static bool parse_count(Parser *parser, const char *value, int64 *result);
static void format_count(int64 value, char *buf, size_t buflen);

static const KindEntry policy_kinds[] = {
	[POLICY_KIND_SPIN_TIME] = {
		parse_spin_time, format_spin_time, "0",
		"Use 0, a time of at most 10ms with its unit, such as 20us, or auto."
	},
	[POLICY_KIND_COUNT] = {
		parse_count, format_count, "-1",
		"Use a whole number from -1 (as many as there are processors less one) to 262143."
	},
};


/*
 * Refusals.  All return false, so that a caller can return what they do.
 */

static bool refuse_list(Parser *parser, const char *hint,
						const char *fmt,...) pg_attribute_printf(3, 4);
static bool refuse_element(Parser *parser, const char *hint,
						   const char *fmt,...) pg_attribute_printf(3, 4);

static bool
refuse_list(Parser *parser, const char *hint, const char *fmt,...)
{
	va_list		args;

	va_start(args, fmt);
	vsnprintf(parser->errbuf, parser->errlen, fmt, args);
	va_end(args);
	snprintf(parser->hintbuf, parser->hintlen, "%s", hint);
	return false;
}

/* The message begins with the element, shortened between two characters. */
static bool
refuse_element(Parser *parser, const char *hint, const char *fmt,...)
{
	int			length = parser->element_end - parser->element;
	int			shown = length;
	char		message[POLICY_MESSAGE_SIZE];
	va_list		args;

	if (length > EXCERPT_MAX)
		shown = pg_mbcliplen(parser->element, length, EXCERPT_MAX);

	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);

	return refuse_list(parser, hint, "Element \"%.*s%s\" %s",
					   shown, parser->element,
					   shown < length ? "..." : "", message);
}


/*
 * Characters and names
 */

static bool
is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
is_name_start(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool
is_name_char(char c)
{
	return is_name_start(c) || is_digit(c) || c == '.' || c == '$' || c == '-';
}

static const char *
skip_space(const char *s, const char *end)
{
	while (s < end && is_space(*s))
		s++;
	return s;
}

/* Where the white space that ends at "end" begins. */
static const char *
trim_space(const char *start, const char *end)
{
	while (end > start && is_space(end[-1]))
		end--;
	return end;
}

bool
policy_names_equal(const char *a, const char *b)
{
	while (*a != '\0' &&
		   pg_ascii_tolower((unsigned char) *a) ==
		   pg_ascii_tolower((unsigned char) *b))
	{
		a++;
		b++;
	}
	return *a == '\0' && *b == '\0';
}

/* FNV-1a of the folded name. */
static uint32
name_hash(const char *name)
{
	uint32		hash = 2166136261U;

	for (; *name != '\0'; name++)
		hash = (hash ^ pg_ascii_tolower((unsigned char) *name)) * 16777619U;
	return hash ^ (hash >> 16);
}

/*
 * Finds the element of that name; if there is none, enters the name as that
 * of the element about to be appended.
 */
static const PolicyElement *
find_or_enter(Parser *parser, const PolicyList *list, const char *name)
{
	uint32		slot = name_hash(name) & (NSLOTS - 1);

	while (parser->slots[slot] != 0)
	{
		const PolicyElement *element =
		&list->elements[parser->slots[slot] - 1];

		if (policy_names_equal(element->name, name))
			return element;
		slot = (slot + 1) & (NSLOTS - 1);
	}
	parser->slots[slot] = (uint16) (list->nelements + 1);
	return NULL;
}


/*
 * Values
 */

/*
 * Steps over a plain decimal number, with a sign, fraction and exponent if it
 * has them; NULL if the value does not begin with one.  strtod(), which reads
 * it in the end, takes more: nan, infinity and hexadecimal numbers.
 */
static const char *
skip_number(const char *s, bool *negative, bool *nonzero)
{
	bool		digits = false;

	*negative = (*s == '-');
	*nonzero = false;
	if (*s == '-' || *s == '+')
		s++;
	for (; is_digit(*s); s++)
	{
		digits = true;
		*nonzero |= (*s != '0');
	}
	if (*s == '.')
	{
		for (s++; is_digit(*s); s++)
		{
			digits = true;
			*nonzero |= (*s != '0');
		}
	}
	if (!digits)
		return NULL;
	if (*s == 'e' || *s == 'E')
	{
		const char *exponent = s + 1;

		if (*exponent == '-' || *exponent == '+')
			exponent++;
		if (is_digit(*exponent))
		{
			while (is_digit(*exponent))
				exponent++;
			s = exponent;
		}
	}
	return s;
}

/*
 * A time is rounded to whole nanoseconds, or to what parse_real() rounds its
 * unit to (ms to whole us).  One that is not zero but rounds to it is refused,
 * for 0 means something else: not to spin.
 */
static bool
parse_spin_time(Parser *parser, const char *value, int64 *result)
{
	const char *unit;
	const char *unit_hint;
	bool		negative;
	bool		nonzero;
	double		ms;
	double		ns;

	if (policy_names_equal(value, "auto"))
	{
		*result = POLICY_SPIN_AUTO;
		return true;
	}

	unit = skip_number(value, &negative, &nonzero);
	if (unit == NULL)
		return refuse_element(parser, parser->kind->usage,
							  "has an invalid value.");
	if (negative && nonzero)
		return refuse_element(parser, parser->kind->usage,
							  "has a negative time.");
	while (is_space(*unit))
		unit++;
	if (*unit == '\0' && nonzero)
		return refuse_element(parser, "Add a unit, such as 20us.",
							  "has a time without a unit.");

	/* an x after a zero would make strtod() read a hexadecimal number */
	unit_hint = "";
	if (*unit == 'x' || *unit == 'X' ||
		!parse_real(value, &ms, GUC_UNIT_MS, &unit_hint))
	{
		if (unit_hint != NULL)
			return refuse_element(parser,
								  "Valid units are us, ms, s, min, h and d.",
								  "has the unknown unit \"%s\".", unit);
		/* the number itself is too large or too small for a double */
		ms = HUGE_VAL;
	}

	ns = nonzero ? rint(ms * 1000000.0) : 0;
	if (nonzero && !(ns >= 1 && ns <= (double) POLICY_SPIN_MAX))
		return refuse_element(parser, parser->kind->usage,
							  "has a time outside the range from 0.001us to 10ms.");
	*result = (int64) ns;
	return true;
}

/*
 * parse_real() rounds a value in ms to whole us, so anything finer has to be
 * written in us.
 */
static void
format_spin_time(int64 value, char *buf, size_t buflen)
{
	const char *unit = "us";
	int64		whole = value / 1000;
	int			fraction = (int) (value % 1000);
	char		digits[8] = "";

	if (value == POLICY_SPIN_AUTO || value == 0)
	{
		snprintf(buf, buflen, "%s", value == 0 ? "0" : "auto");
		return;
	}

	if (fraction == 0 && whole >= 1000)
	{
		unit = "ms";
		fraction = (int) (whole % 1000);
		whole /= 1000;
	}
	if (fraction != 0)
	{
		int			last = 3;

		snprintf(digits, sizeof(digits), ".%03d", fraction);
		while (digits[last] == '0')
			digits[last--] = '\0';
	}
	snprintf(buf, buflen, INT64_FORMAT "%s%s", whole, digits, unit);
}

/*
 * Plain decimal only: parse_int() alone would read 010 as eight, and round
 * 1.5 to two.
 */
static bool
parse_count(Parser *parser, const char *value, int64 *result)
{
	const char *digits = value + (*value == '-' || *value == '+');
	const char *unused_hint;
	int			count;

	if (!is_digit(*digits) || (digits[0] == '0' && digits[1] != '\0') ||
		digits[strspn(digits, "0123456789")] != '\0')
		return refuse_element(parser, parser->kind->usage,
							  "has an invalid value.");
	if (!parse_int(value, &count, 0, &unused_hint) ||
		count < POLICY_COUNT_PROCESSORS || count > POLICY_COUNT_MAX)
		return refuse_element(parser, parser->kind->usage,
							  "has a number outside the range from -1 to 262143.");
	*result = count;
	return true;
}

static void
format_count(int64 value, char *buf, size_t buflen)
{
	snprintf(buf, buflen, INT64_FORMAT, value);
}


/*
 * Elements
 */

/*
 * Finds the bounds of the next element and returns its end: a comma or the
 * zero byte.  Only a double quote at its very start opens a quoted name.
 */
static const char *
read_element(Parser *parser, const char *s)
{
	while (is_space(*s))
		s++;
	parser->number++;
	parser->element = s;
	parser->after_quote = NULL;

	if (*s == '"')
	{
		for (s++; *s != '\0'; s++)
		{
			if (*s != '"')
				continue;
			if (s[1] != '"')
			{
				parser->after_quote = ++s;
				break;
			}
			s++;
		}
	}
	while (*s != '\0' && *s != ',')
		s++;
	parser->element_end = trim_space(parser->element, s);
	return s;
}

/*
 * Takes the element's name, if it has one, and sets *value to what follows
 * its colon; an empty name means that there is none.
 */
static bool
take_name(Parser *parser, char *name, const char **value)
{
	static const char quote_hint[] =
	"Separate elements with commas, and put a tranche name with spaces or "
	"special characters in double quotes.";
	const char *start = parser->element;
	const char *end;
	const char *colon;
	const char *s;
	bool		quoted = (*start == '"');
	int			length = 0;

	name[0] = '\0';
	*value = start;

	if (quoted)
	{
		if (parser->after_quote == NULL)
			return refuse_element(parser,
								  "A double quote inside a quoted tranche name is written twice.",
								  "has no closing double quote.");
		colon = skip_space(parser->after_quote, parser->element_end);
		if (colon == parser->element_end || *colon != ':')
			return refuse_element(parser,
								  "Only a tranche name is quoted, never a value: write \"tranche\":value.",
								  "has no colon after the closing double quote.");
		start++;
		end = parser->after_quote - 1;
	}
	else
	{
		colon = memchr(start, ':', parser->element_end - start);
		if (colon == NULL)
			return true;
		end = trim_space(start, colon);
	}

	if (start == end)
		return refuse_element(parser,
							  "Write tranche:value, or the value alone as the default for all tranches.",
							  "has an empty tranche name.");

	for (s = start; s < end; s++)
	{
		if (quoted)
			s += (*s == '"');
		else if (s == start ? !is_name_start(*s) : !is_name_char(*s))
			return refuse_element(parser, quote_hint,
								  "has a tranche name that must be in double quotes.");
		if (length < NAMEDATALEN - 1)
			name[length] = *s;
		length++;
	}
	if (length > NAMEDATALEN - 1)
		return refuse_element(parser,
							  "Tranche names are those of pg_stat_activity.wait_event.",
							  "has a tranche name of %d bytes, more than %d.",
							  length, NAMEDATALEN - 1);
	name[length] = '\0';

	*value = skip_space(colon + 1, parser->element_end);
	if (*value == parser->element_end)
		return refuse_element(parser, parser->kind->usage,
							  "has no value after the colon.");
	if (memchr(*value, ':', parser->element_end - *value) != NULL)
		return refuse_element(parser, quote_hint,
							  "has more than one colon.");
	return true;
}

static bool
take_value(Parser *parser, const char *value, int64 *result)
{
	size_t		length = parser->element_end - value;
	char		copy[VALUE_MAX];

	if (length >= sizeof(copy))
		return refuse_element(parser, parser->kind->usage,
							  "has an invalid value.");
	memcpy(copy, value, length);
	copy[length] = '\0';
	return parser->kind->parse(parser, copy, result);
}

/* Adds the element at hand to the list. */
static bool
take_element(Parser *parser, PolicyList *list)
{
	char		name[NAMEDATALEN];
	const char *value;
	const PolicyElement *previous;
	PolicyElement *added;

	if (parser->element == parser->element_end)
		return refuse_list(parser, "Remove the extra comma.",
						   "Element %d of the list is empty.",
						   parser->number);
	if (!take_name(parser, name, &value))
		return false;

	if (name[0] == '\0')
	{
		if (list->has_default)
			return refuse_element(parser,
								  "Only one value may stand alone, as the default for all tranches; write the others as tranche:value.",
								  "is a second value without a tranche name.");
		list->has_default = true;
		return take_value(parser, value, &list->default_value);
	}

	if (list->nelements == POLICY_MAX_ELEMENTS)
		return refuse_element(parser,
							  "Leave out tranches that do without a value of their own.",
							  "is one too many: a list names at most %d tranches.",
							  POLICY_MAX_ELEMENTS);
	previous = find_or_enter(parser, list, name);
	if (previous != NULL)
		return refuse_element(parser,
							  "Name each tranche once; upper and lower case are the same.",
							  "repeats tranche \"%s\".", previous->name);

	added = &list->elements[list->nelements++];
	memset(added, 0, sizeof(*added));
	strcpy(added->name, name);
	return take_value(parser, value, &added->value);
}


/*
 * The three exported functions
 */

PolicyList *
policy_parse(PolicyKind kind, const char *text,
			 char *errbuf, size_t errlen, char *hintbuf, size_t hintlen)
{
	Parser		parser = {0};
	PolicyList *list;
	const char *s;
	size_t		length;
	int			capacity = 1;

	parser.kind = &policy_kinds[kind];
	parser.errbuf = errbuf;
	parser.errlen = errlen;
	parser.hintbuf = hintbuf;
	parser.hintlen = hintlen;
	snprintf(errbuf, errlen, "%s", "");
	snprintf(hintbuf, hintlen, "%s", "");

	for (s = text; is_space(*s);)
		s++;
	length = strlen(text);
	if (*s == '\0')
	{
		char		hint[64];

		snprintf(hint, sizeof(hint), "Use %s, the built-in default.",
				 parser.kind->builtin);
		refuse_list(&parser, hint, "The list is empty.");
		return NULL;
	}
	if (length > POLICY_MAX_TEXT)
	{
		refuse_list(&parser,
					"Leave out tranches that do without a value of their own.",
					"The list that begins with \"%.*s...\" has %zu bytes, more than %d.",
					pg_mbcliplen(text, EXCERPT_MAX, EXCERPT_MAX), text,
					length, POLICY_MAX_TEXT);
		return NULL;
	}

	/* a comma inside a quoted name only makes this too large */
	while (*s != '\0' && capacity < POLICY_MAX_ELEMENTS)
		capacity += (*s++ == ',');
	list = malloc(offsetof(PolicyList, elements) +
				  capacity * sizeof(PolicyElement));
	if (list == NULL)
	{
		refuse_list(&parser, "", "Out of memory.");
		return NULL;
	}
	list->has_default = false;
	list->default_value = 0;
	list->nelements = 0;

	for (s = text;; s++)
	{
		s = read_element(&parser, s);
		if (!take_element(&parser, list))
		{
			free(list);
			return NULL;
		}
		if (*s == '\0')
			return list;
	}
}

const PolicyElement *
policy_lookup(const PolicyList *list, const char *tranche)
{
	int			i;

	for (i = 0; i < list->nelements; i++)
	{
		if (policy_names_equal(list->elements[i].name, tranche))
			return &list->elements[i];
	}
	return NULL;
}

void
policy_format_value(PolicyKind kind, int64 value, char *buf, size_t buflen)
{
	policy_kinds[kind].format(value, buf, buflen);
}
