/*-------------------------------------------------------------------------
 *
 * test_policy_parse.c
 *	  Host test of the per-tranche list syntax.
 *
 * With SHOW_MESSAGES set in the environment, every refusal is printed with its
 * message and hint, for those who review the wording.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "policy_parse.h"

#include "tap.h"

#define SPIN	POLICY_KIND_SPIN_TIME
#define COUNT	POLICY_KIND_COUNT

#define NAME_63 "n23456789_123456789_123456789_123456789_123456789_123456789_123"

/* Hints, by the part that tells them apart. */
#define HINT_SPIN		"Use 0, a time of at most 10ms"
#define HINT_COUNT		"Use a whole number from -1"
#define HINT_UNITS		"Valid units are us, ms"
#define HINT_QUOTE		"put a tranche name with spaces"
#define HINT_COMMA		"Remove the extra comma"

/* What a list is expected to mean, written in canonical form. */
typedef struct GoodCase
{
	PolicyKind	kind;
	const char *text;
	const char *meaning;
} GoodCase;

static const GoodCase good_cases[] = {
	{SPIN, "0", "0"},
	{SPIN, "20us", "20us"},
	{SPIN, "auto", "auto"},
	{SPIN, "0, WALInsert:20us, ProcArray:auto", "0, WALInsert:20us, ProcArray:auto"},
	{SPIN, "WALInsert:20us", "WALInsert:20us"},
	{SPIN, "WALInsert:20us,auto", "auto, WALInsert:20us"},
	{SPIN, " \t\n0 ,\r\f\v WALInsert :\t20us \n", "0, WALInsert:20us"},
	{SPIN, "pg_stat_statements:1ms,a.b$c-d:0,_:0", "pg_stat_statements:1ms, a.b$c-d:0, _:0"},
	{SPIN, NAME_63 ":20us", NAME_63 ":20us"},

	/* quoted names */
	{SPIN, "\"my tranche\":20us", "my tranche:20us"},
	{SPIN, "\" a:b,c \" : 20us , 0", "0,  a:b,c :20us"},
	{SPIN, "\"a\"\"b\":20us", "a\"b:20us"},
	{SPIN, "\"\"\"\":20us", "\":20us"},
	{SPIN, "\",,,,\":20us", ",,,,:20us"},
	{SPIN, "\"WALInsert\":20us", "WALInsert:20us"},
	{SPIN, "\"Gr\xc3\xb6\xc3\x9f" "e\":20us", "Gr\xc3\xb6\xc3\x9f" "e:20us"},
	{SPIN, "\"\xff\xfe\":20us", "\xff\xfe:20us"},
	{SPIN, "\"1st\":20us", "1st:20us"},
	{SPIN, "\"" NAME_63 "\":20us", NAME_63 ":20us"},
	/* only ASCII letters are folded */
	{SPIN, "\"\xc3\xb6\":1us,\"\xc3\x96\":2us", "\xc3\xb6:1us, \xc3\x96:2us"},
	{SPIN, "auto:auto", "auto:auto"},

	/* spin times */
	{SPIN, "AUTO", "auto"},
	{SPIN, "-0", "0"},
	{SPIN, "0.0", "0"},
	{SPIN, "0us", "0"},
	{SPIN, "-0ms", "0"},
	{SPIN, "0e999us", "0"},
	{SPIN, "20 us", "20us"},
	{SPIN, "+20us", "20us"},
	{SPIN, "020us", "20us"},
	{SPIN, "1.5ms", "1.5ms"},
	{SPIN, ".5ms", "500us"},
	{SPIN, "5.ms", "5ms"},
	{SPIN, "1e3us", "1ms"},
	{SPIN, "1E-3s", "1ms"},
	{SPIN, "10ms", "10ms"},
	{SPIN, "10000us", "10ms"},
	{SPIN, "0.01s", "10ms"},
	{SPIN, "0.001us", "0.001us"},
	{SPIN, "0.0006us", "0.001us"},
	{SPIN, "1.5us", "1.5us"},
	{SPIN, "1234.567us", "1234.567us"},
	{SPIN, "1.234567ms", "1.235ms"},

	/* counts */
	{COUNT, "-1", "-1"},
	{COUNT, "0", "0"},
	{COUNT, "-0", "0"},
	{COUNT, "+4", "4"},
	{COUNT, "-1, WALInsert:4, ProcArray:262143", "-1, WALInsert:4, ProcArray:262143"},
};

typedef struct BadCase
{
	PolicyKind	kind;
	const char *text;
	const char *error;			/* part of the message */
	const char *hint;			/* part of the hint */
} BadCase;

static const BadCase bad_cases[] = {
	/* empty list and elements */
	{SPIN, "", "The list is empty.", "Use 0, the built-in default."},
	{SPIN, " \t\n", "The list is empty.", "Use 0, the built-in default."},
	{COUNT, "", "The list is empty.", "Use -1, the built-in default."},
	{SPIN, ",", "Element 1 of the list is empty.", HINT_COMMA},
	{SPIN, "0,,WALInsert:1us", "Element 2 of the list is empty.", HINT_COMMA},
	{SPIN, "0, ,WALInsert:1us", "Element 2 of the list is empty.", HINT_COMMA},
	{SPIN, ",0", "Element 1 of the list is empty.", HINT_COMMA},
	{SPIN, "0,WALInsert:1us, ", "Element 3 of the list is empty.", HINT_COMMA},

	/* names */
	{SPIN, ":5us", "Element \":5us\" has an empty tranche name.", "Write tranche:value"},
	{SPIN, "0, : 5us", "Element \": 5us\" has an empty tranche name.", "Write tranche:value"},
	{SPIN, "\"\":5us", "Element \"\"\":5us\" has an empty tranche name.", "Write tranche:value"},
	{SPIN, "my tranche:5us", "Element \"my tranche:5us\" has a tranche name that must be in double quotes.", HINT_QUOTE},
	{SPIN, "Gr\xc3\xb6\xc3\x9f" "e:5us", "Element \"Gr\xc3\xb6\xc3\x9f" "e:5us\" has a tranche name that must be", HINT_QUOTE},
	{SPIN, "1st:5us", "Element \"1st:5us\" has a tranche name that must be", HINT_QUOTE},
	{SPIN, "WAL\"Insert:5us", "Element \"WAL\"Insert:5us\" has a tranche name that must be", HINT_QUOTE},
	{SPIN, "0 WALInsert:5us", "Element \"0 WALInsert:5us\" has a tranche name that must be", HINT_QUOTE},
	{SPIN, NAME_63 "4:5us", "has a tranche name of 64 bytes, more than 63.", "pg_stat_activity.wait_event"},
	{SPIN, "\"" NAME_63 "\"\"\":5us", "has a tranche name of 64 bytes, more than 63.", "pg_stat_activity.wait_event"},
	{SPIN, "0,\"WALInsert:5us,auto", "Element \"\"WALInsert:5us,auto\" has no closing double quote.", "written twice"},
	{SPIN, "\"", "Element \"\"\" has no closing double quote.", "written twice"},
	{SPIN, "\"\"\":5us", "Element \"\"\"\":5us\" has no closing double quote.", "written twice"},
	{SPIN, "\"auto\"", "Element \"\"auto\"\" has no colon after the closing double quote.", "never a value"},
	{SPIN, "\"a\"b:5us", "Element \"\"a\"b:5us\" has no colon after", "never a value"},
	{SPIN, "\"a\",b:5us", "Element \"\"a\"\" has no colon after", "never a value"},
	{SPIN, "WALInsert:20us ProcArray:auto", "Element \"WALInsert:20us ProcArray:auto\" has more than one colon.", "Separate elements with commas"},
	{SPIN, "a::5us", "Element \"a::5us\" has more than one colon.", HINT_QUOTE},

	/* two defaults, repeated tranches */
	{SPIN, "0,WALInsert:1us,5us", "Element \"5us\" is a second value without a tranche name.", "Only one value may stand alone"},
	{SPIN, "0,0", "Element \"0\" is a second value without", "Only one value may stand alone"},
	{SPIN, "0,WALInsert", "Element \"WALInsert\" is a second value without", "write the others as tranche:value"},
	{SPIN, "WALInsert:1us,walinsert:2us", "Element \"walinsert:2us\" repeats tranche \"WALInsert\".", "Name each tranche once"},
	{SPIN, "WALInsert:1us,0,\"WALINSERT\":1us", "Element \"\"WALINSERT\":1us\" repeats tranche \"WALInsert\".", "Name each tranche once"},
	{SPIN, "\"a b\":1us,\"A B\":1us", "Element \"\"A B\":1us\" repeats tranche \"a b\".", "Name each tranche once"},

	/* values of a spin time */
	{SPIN, "WALInsert:", "Element \"WALInsert:\" has no value after the colon.", HINT_SPIN},
	{SPIN, "WALInsert: ,0", "Element \"WALInsert:\" has no value after the colon.", HINT_SPIN},
	{SPIN, "WALInsert", "Element \"WALInsert\" has an invalid value.", HINT_SPIN},
	{SPIN, "WALInsert:fast", "Element \"WALInsert:fast\" has an invalid value.", HINT_SPIN},
	{SPIN, "WALInsert:\"20us\"", "Element \"WALInsert:\"20us\"\" has an invalid value.", HINT_SPIN},
	{SPIN, "nan", "Element \"nan\" has an invalid value.", HINT_SPIN},
	{SPIN, "-inf", "Element \"-inf\" has an invalid value.", HINT_SPIN},
	{SPIN, "infinity us", "Element \"infinity us\" has an invalid value.", HINT_SPIN},
	{SPIN, ".us", "Element \".us\" has an invalid value.", HINT_SPIN},
	{SPIN, "- 5us", "Element \"- 5us\" has an invalid value.", HINT_SPIN},
	{SPIN, "--5us", "Element \"--5us\" has an invalid value.", HINT_SPIN},
	{SPIN, "us", "Element \"us\" has an invalid value.", HINT_SPIN},
	{SPIN, "autos", "Element \"autos\" has an invalid value.", HINT_SPIN},
	{SPIN, "WALInsert:20", "Element \"WALInsert:20\" has a time without a unit.", "Add a unit, such as 20us."},
	{SPIN, "0.5", "Element \"0.5\" has a time without a unit.", "Add a unit"},
	{SPIN, "20,5us", "Element \"20\" has a time without a unit.", "Add a unit"},
	{SPIN, "WALInsert:20xs", "Element \"WALInsert:20xs\" has the unknown unit \"xs\".", HINT_UNITS},
	{SPIN, "20 u s", "Element \"20 u s\" has the unknown unit \"u s\".", HINT_UNITS},
	{SPIN, "20US", "Element \"20US\" has the unknown unit \"US\".", HINT_UNITS},
	{SPIN, "20\xc2\xb5s", "Element \"20\xc2\xb5s\" has the unknown unit \"\xc2\xb5s\".", HINT_UNITS},
	{SPIN, "20us 30us", "Element \"20us 30us\" has the unknown unit \"us 30us\".", HINT_UNITS},
	{SPIN, "20kB", "Element \"20kB\" has the unknown unit \"kB\".", HINT_UNITS},
	{SPIN, "0xaus", "Element \"0xaus\" has the unknown unit \"xaus\".", HINT_UNITS},
	{SPIN, "0x", "Element \"0x\" has the unknown unit \"x\".", HINT_UNITS},
	{SPIN, "1eus", "Element \"1eus\" has the unknown unit \"eus\".", HINT_UNITS},
	{SPIN, "WALInsert:-5us", "Element \"WALInsert:-5us\" has a negative time.", HINT_SPIN},
	{SPIN, "-1", "Element \"-1\" has a negative time.", HINT_SPIN},
	{SPIN, "-1e-999us", "Element \"-1e-999us\" has a negative time.", HINT_SPIN},
	{SPIN, "WALInsert:11ms", "Element \"WALInsert:11ms\" has a time outside the range from 0.001us to 10ms.", HINT_SPIN},
	{SPIN, "10.001ms", "Element \"10.001ms\" has a time outside", HINT_SPIN},
	{SPIN, "10000.001us", "Element \"10000.001us\" has a time outside", HINT_SPIN},
	{SPIN, "1min", "Element \"1min\" has a time outside", HINT_SPIN},
	{SPIN, "0.0001us", "Element \"0.0001us\" has a time outside", HINT_SPIN},
	{SPIN, "0.0001ms", "Element \"0.0001ms\" has a time outside", HINT_SPIN},
	{SPIN, "1e-999us", "Element \"1e-999us\" has a time outside", HINT_SPIN},
	{SPIN, "1e999us", "Element \"1e999us\" has a time outside", HINT_SPIN},
	{SPIN, "1e308d", "Element \"1e308d\" has a time outside", HINT_SPIN},
	{SPIN, "0.0000000000000000000000000000000000000000000000000000000000001s", "has an invalid value.", HINT_SPIN},

	/* values of a count */
	{COUNT, "auto", "Element \"auto\" has an invalid value.", HINT_COUNT},
	{COUNT, "WALInsert:4us", "Element \"WALInsert:4us\" has an invalid value.", HINT_COUNT},
	{COUNT, "1.5", "Element \"1.5\" has an invalid value.", HINT_COUNT},
	{COUNT, "1e3", "Element \"1e3\" has an invalid value.", HINT_COUNT},
	{COUNT, "010", "Element \"010\" has an invalid value.", HINT_COUNT},
	{COUNT, "0x10", "Element \"0x10\" has an invalid value.", HINT_COUNT},
	{COUNT, "-", "Element \"-\" has an invalid value.", HINT_COUNT},
	{COUNT, "- 1", "Element \"- 1\" has an invalid value.", HINT_COUNT},
	{COUNT, "WALInsert:-2", "Element \"WALInsert:-2\" has a number outside the range from -1 to 262143.", HINT_COUNT},
	{COUNT, "262144", "Element \"262144\" has a number outside", HINT_COUNT},
	{COUNT, "99999999999", "Element \"99999999999\" has a number outside", HINT_COUNT},
	{COUNT, "99999999999999999999", "Element \"99999999999999999999\" has a number outside", HINT_COUNT},
};

static char errbuf[POLICY_MESSAGE_SIZE];
static char hintbuf[POLICY_MESSAGE_SIZE];

/* malloc() as policy_parse.c sees it: fails when the countdown gets to zero. */
static int	malloc_countdown = -1;

extern void *__real_malloc(size_t size);
extern void *__wrap_malloc(size_t size);

void *
__wrap_malloc(size_t size)
{
	if (malloc_countdown >= 0 && malloc_countdown-- == 0)
		return NULL;
	return __real_malloc(size);
}

static PolicyList *
parse(PolicyKind kind, const char *text)
{
	return policy_parse(kind, text, errbuf, sizeof(errbuf),
						hintbuf, sizeof(hintbuf));
}

/* For descriptions: one line, and not 10,000 bytes. */
static const char *
one_line(const char *text)
{
	static char line[128];
	size_t		i;

	for (i = 0; i < sizeof(line) - 1 && text[i] != '\0'; i++)
		line[i] = (text[i] >= ' ' && text[i] <= '~' && text[i] != '#') ?
			text[i] : '?';
	line[i] = '\0';
	return line;
}

static void
render(PolicyKind kind, const PolicyList *list, char *buf, size_t buflen)
{
	char		value[POLICY_VALUE_SIZE];
	size_t		used = 0;
	int			i;

	buf[0] = '\0';
	if (list->has_default)
	{
		policy_format_value(kind, list->default_value, value, sizeof(value));
		used = snprintf(buf, buflen, "%s", value);
	}
	for (i = 0; i < list->nelements; i++)
	{
		policy_format_value(kind, list->elements[i].value, value, sizeof(value));
		used += snprintf(buf + used, buflen - used, "%s%s:%s",
						 used > 0 ? ", " : "", list->elements[i].name, value);
	}
}

static void
test_good(void)
{
	size_t		i;

	for (i = 0; i < lengthof(good_cases); i++)
	{
		const GoodCase *test = &good_cases[i];
		PolicyList *list = parse(test->kind, test->text);
		char		meaning[256] = "refused";

		if (list != NULL)
			render(test->kind, list, meaning, sizeof(meaning));
		if (!ok(list != NULL && strcmp(meaning, test->meaning) == 0 &&
				errbuf[0] == '\0' && hintbuf[0] == '\0',
				"good: %s", one_line(test->text)))
			printf("# got: %s, %s\n", meaning, errbuf);
		free(list);
	}
}

static void
test_bad(void)
{
	size_t		i;

	for (i = 0; i < lengthof(bad_cases); i++)
	{
		const BadCase *test = &bad_cases[i];
		PolicyList *list = parse(test->kind, test->text);
		bool		passed = list == NULL && strstr(errbuf, test->error) != NULL &&
			strstr(hintbuf, test->hint) != NULL;

		ok(passed, "bad: %s", one_line(test->text));
		if (!passed || getenv("SHOW_MESSAGES") != NULL)
			printf("#   %s\n#   %s\n", errbuf, hintbuf);
		free(list);
	}
}

static void
test_lookup(void)
{
	PolicyList *list = parse(SPIN, "5us,WALInsert:20us,\"a b\":auto,ProcArray:1ms");
	const PolicyElement *element;

	ok(list != NULL && list->has_default && list->default_value == 5000 &&
	   list->nelements == 3, "lookup: list");
	element = policy_lookup(list, "walINSERT");
	ok(element != NULL && element->value == 20000, "lookup: without regard to case");
	element = policy_lookup(list, "A b");
	ok(element != NULL && element->value == POLICY_SPIN_AUTO, "lookup: quoted name");
	ok(policy_lookup(list, "WALInser") == NULL, "lookup: a shorter name is another one");
	ok(policy_lookup(list, "WALInsertX") == NULL, "lookup: a longer name is another one");
	ok(policy_lookup(list, "") == NULL, "lookup: empty name");
	free(list);
	list = parse(SPIN, "WALInsert:20us");
	ok(list != NULL && !list->has_default && list->default_value == 0,
	   "lookup: no default");
	free(list);
}

static bool
round_trips(PolicyKind kind, int64 value)
{
	char		text[POLICY_VALUE_SIZE];
	PolicyList *list;
	bool		same;

	policy_format_value(kind, value, text, sizeof(text));
	list = parse(kind, text);
	same = list != NULL && list->has_default && list->default_value == value;
	if (!same)
		printf("# %lld became %s\n", (long long) value, text);
	free(list);
	return same;
}

static void
test_round_trip(void)
{
	bool		same = true;
	int64		value;

	for (value = POLICY_SPIN_AUTO; value <= 3000 && same; value++)
		same = round_trips(SPIN, value);
	ok(same, "round trip: auto and spin times up to 3us");
	for (value = 3000; value <= POLICY_SPIN_MAX && same; value += 499)
		same = round_trips(SPIN, value);
	ok(same, "round trip: spin times, odd ones");
	for (value = 1000; value <= POLICY_SPIN_MAX && same; value += 1000)
		same = round_trips(SPIN, value);
	ok(same, "round trip: spin times, every microsecond");
	for (value = -1; value <= POLICY_COUNT_MAX && same; value += 7)
		same = round_trips(COUNT, value);
	ok(same && round_trips(COUNT, POLICY_COUNT_MAX), "round trip: counts");
}

/* "count" pairs with distinct names of the fewest letters and digits. */
static char *
make_list(int count)
{
	static const char first[] = "abcdefghijklmnopqrstuvwxyz_";
	static const char rest[] = "abcdefghijklmnopqrstuvwxyz_0123456789.$-";
	char	   *text = __real_malloc((size_t) count * 8 + 1);
	size_t		used = 0;
	int			i;

	for (i = 0; i < count; i++)
	{
		int			n = i;

		if (i > 0)
			text[used++] = ',';
		text[used++] = first[n % (lengthof(first) - 1)];
		for (n /= lengthof(first) - 1; n > 0; n /= lengthof(rest) - 1)
			text[used++] = rest[--n % (lengthof(rest) - 1)];
		text[used++] = ':';
		text[used++] = '0';
	}
	text[used] = '\0';
	return text;
}

static void
test_sizes(void)
{
	char	   *text = make_list(POLICY_MAX_ELEMENTS + 1);
	char	   *last_comma = strrchr(text, ',');
	PolicyList *list = parse(SPIN, text);
	char		longest[POLICY_MAX_TEXT + 2];
	size_t		i;
	int			n;

	ok(list == NULL && strstr(errbuf, "is one too many: a list names at most 4096 tranches.") != NULL &&
	   strstr(errbuf, last_comma + 1) != NULL, "size: one element too many");
	free(list);

	*last_comma = '\0';
	list = parse(SPIN, text);
	if (!ok(list != NULL && list->nelements == POLICY_MAX_ELEMENTS,
			"size: as many elements as there may be, %zu bytes", strlen(text)))
		printf("# %s\n", errbuf);
	free(list);

	/* as many elements as 10,000 characters can hold */
	n = 9999;
	while (text[n] != ',')
		n--;
	text[n] = '\0';
	strcat(text, ",0");
	for (i = strlen(text); i < 10000; i++)
		text[i] = ' ';
	text[i] = '\0';
	list = parse(SPIN, text);
	ok(list != NULL && strlen(text) == 10000 && list->nelements > 1700 &&
	   list->has_default, "size: 10,000 characters");
	free(list);
	text[5000] = '!';
	list = parse(SPIN, text);
	ok(list == NULL && strstr(errbuf, "!") != NULL,
	   "size: 10,000 characters, bad in the middle: %s", errbuf);
	free(list);
	free(text);

	memset(longest, ' ', sizeof(longest));
	longest[0] = '0';
	longest[POLICY_MAX_TEXT] = '\0';
	list = parse(SPIN, longest);
	ok(list != NULL, "size: as many bytes as there may be");
	free(list);
	longest[POLICY_MAX_TEXT] = ' ';
	longest[POLICY_MAX_TEXT + 1] = '\0';
	list = parse(SPIN, longest);
	ok(list == NULL && strstr(errbuf, "has 65537 bytes, more than 65536") != NULL,
	   "size: one byte too many");
	free(list);

	memset(longest, ',', POLICY_MAX_TEXT);
	longest[POLICY_MAX_TEXT] = '\0';
	ok(parse(SPIN, longest) == NULL, "size: nothing but commas");
	memset(longest, '"', POLICY_MAX_TEXT);
	ok(parse(SPIN, longest) == NULL, "size: nothing but quotes");
	memset(longest, '9', POLICY_MAX_TEXT);
	ok(parse(SPIN, longest) == NULL && parse(COUNT, longest) == NULL,
	   "size: nothing but digits");
}

/* Messages stay whole characters and inside their buffers. */
static void
test_messages(void)
{
	char		text[400] = "x";
	char		small[8];
	size_t		i;

	/* 1 + 2 * 47 = 95: the 96th byte is half a character */
	for (i = 0; i < 60; i++)
		strcat(text, "\xc3\xb6");
	parse(SPIN, text);
	text[95] = '\0';
	ok(strstr(errbuf, text) != NULL && strstr(errbuf, "\xc3\xb6...\" ") != NULL,
	   "message: shortened between two characters");

	/* a lead byte that ends its element */
	ok(parse(SPIN, "20\xc3,0") == NULL && strstr(errbuf, "\"20\xc3\" has the unknown") != NULL,
	   "message: half a character");
	memset(text, 'x', 95);
	strcpy(text + 95, "\xc3");
	strcat(text, ",abc");
	ok(parse(SPIN, text) == NULL && strstr(errbuf, ",") == NULL,
	   "message: half a character at the end of a long element");

	ok(policy_parse(SPIN, "fast", small, sizeof(small), small, sizeof(small)) == NULL &&
	   strlen(small) == sizeof(small) - 1, "message: small buffers");
}

static void
test_out_of_memory(void)
{
	int			failures = 0;
	PolicyList *list = NULL;

	/* let the first, the second, ... allocation fail until none is left */
	while (list == NULL && failures < 10)
	{
		malloc_countdown = failures;
		list = parse(SPIN, "0,WALInsert:20us");
		malloc_countdown = -1;
		if (list != NULL)
			break;
		failures++;
		ok(strcmp(errbuf, "Out of memory.") == 0 && hintbuf[0] == '\0',
		   "out of memory: allocation %d", failures);
	}
	ok(list != NULL && failures == 1, "out of memory: one allocation in all");
	free(list);
}

int
main(void)
{
	test_good();
	test_bad();
	test_lookup();
	test_round_trip();
	test_sizes();
	test_messages();
	test_out_of_memory();
	return tap_done();
}
