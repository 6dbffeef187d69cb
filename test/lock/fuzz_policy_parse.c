/*-------------------------------------------------------------------------
 *
 * fuzz_policy_parse.c
 *	  libFuzzer target: any text is a list that keeps its promises, or is
 *	  refused with a message.
 *
 * The first byte chooses the kind of the setting, 0 a spin time and 1 a count
 * for those who write one; the rest is the list.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "policy_parse.h"

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition) \
	do { \
		if (!(condition)) \
			__builtin_trap(); \
	} while (0)

static PolicyList *
parse(PolicyKind kind, const char *text, char *errbuf, char *hintbuf)
{
	return policy_parse(kind, text, errbuf, POLICY_MESSAGE_SIZE,
						hintbuf, POLICY_MESSAGE_SIZE);
}

static void
check_value(PolicyKind kind, int64 value)
{
	char		text[POLICY_VALUE_SIZE];
	char		errbuf[POLICY_MESSAGE_SIZE];
	char		hintbuf[POLICY_MESSAGE_SIZE];
	PolicyList *list;

	REQUIRE(value >= -1 && value <= (kind == POLICY_KIND_SPIN_TIME ?
									 POLICY_SPIN_MAX : POLICY_COUNT_MAX));
	policy_format_value(kind, value, text, sizeof(text));
	list = parse(kind, text, errbuf, hintbuf);
	REQUIRE(list != NULL && list->has_default && list->nelements == 0 &&
			list->default_value == value);
	free(list);
}

/* Writes the list anew, every name in quotes, and reads that. */
static void
check_list(PolicyKind kind, const PolicyList *list)
{
	size_t		room = (list->nelements + 1) * (2 * NAMEDATALEN + POLICY_VALUE_SIZE + 8);
	char	   *text = malloc(room);
	char	   *end = text;
	char		errbuf[POLICY_MESSAGE_SIZE];
	char		hintbuf[POLICY_MESSAGE_SIZE];
	PolicyList *again;

	for (int i = 0; i < list->nelements; i++)
	{
		*end++ = '"';
		for (const char *c = list->elements[i].name; *c != '\0'; c++)
		{
			if (*c == '"')
				*end++ = '"';
			*end++ = *c;
		}
		*end++ = '"';
		*end++ = ':';
		policy_format_value(kind, list->elements[i].value, end, POLICY_VALUE_SIZE);
		end += strlen(end);
		*end++ = ',';
	}
	if (list->has_default)
		policy_format_value(kind, list->default_value, end, POLICY_VALUE_SIZE);
	else
		end[-1] = '\0';

	again = parse(kind, text, errbuf, hintbuf);
	REQUIRE(strlen(text) < room);
	if (strlen(text) <= POLICY_MAX_TEXT)
	{
		REQUIRE(again != NULL);
		REQUIRE(again->has_default == list->has_default &&
				again->default_value == list->default_value &&
				again->nelements == list->nelements);
		for (int i = 0; i < list->nelements; i++)
			REQUIRE(strcmp(again->elements[i].name, list->elements[i].name) == 0 &&
					again->elements[i].value == list->elements[i].value);
	}
	free(again);
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	PolicyKind	kind;
	char	   *text;
	char	   *errbuf;
	char	   *hintbuf;
	PolicyList *list;
	int			i;

	if (size == 0)
		return 0;
	kind = (data[0] & 1) ? POLICY_KIND_COUNT : POLICY_KIND_SPIN_TIME;

	/* buffers of their own, so that a step too far is seen */
	text = malloc(size);
	errbuf = malloc(POLICY_MESSAGE_SIZE);
	hintbuf = malloc(POLICY_MESSAGE_SIZE);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';

	list = parse(kind, text, errbuf, hintbuf);
	if (list == NULL)
	{
		/* whole sentences, so nothing was cut off */
		REQUIRE(errbuf[strlen(errbuf) - 1] == '.');
		REQUIRE(hintbuf[strlen(hintbuf) - 1] == '.');
	}
	else
	{
		REQUIRE(errbuf[0] == '\0' && hintbuf[0] == '\0');
		REQUIRE(list->nelements <= POLICY_MAX_ELEMENTS);
		REQUIRE(list->has_default || list->nelements > 0);
		if (list->has_default)
			check_value(kind, list->default_value);
		for (i = 0; i < list->nelements; i++)
		{
			const PolicyElement *element = &list->elements[i];

			REQUIRE(element->name[0] != '\0');
			/* its own first match: no tranche twice */
			REQUIRE(policy_lookup(list, element->name) == element);
			check_value(kind, element->value);
		}
		check_list(kind, list);
	}

	free(list);
	free(hintbuf);
	free(errbuf);
	free(text);
	return 0;
}
