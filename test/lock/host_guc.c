/*-------------------------------------------------------------------------
 *
 * host_guc.c
 *	  Stand-ins for the server's functions that policy_parse.c calls.
 *
 * The real ones live in the server's executable and cannot be linked here.
 * These behave like them as far as per-tranche settings go; that the real
 * ones do is for the pg_regress test of the settings to show.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>
#include <math.h>

#include "mb/pg_wchar.h"
#include "utils/guc.h"

#undef vsnprintf

int
pg_vsnprintf(char *str, size_t count, const char *fmt, va_list args)
{
	return vsnprintf(str, count, fmt, args);
}

int
pg_snprintf(char *str, size_t count, const char *fmt,...)
{
	va_list		args;
	int			length;

	va_start(args, fmt);
	length = vsnprintf(str, count, fmt, args);
	va_end(args);
	return length;
}

unsigned char
pg_ascii_tolower(unsigned char ch)
{
	return (ch >= 'A' && ch <= 'Z') ? ch + ('a' - 'A') : ch;
}

/* Of UTF-8. */
int
pg_mbcliplen(const char *mbstr, int len, int limit)
{
	int			clipped = 0;

	while (clipped < len && mbstr[clipped] != '\0')
	{
		unsigned char lead = (unsigned char) mbstr[clipped];
		int			width = lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;

		if (clipped + width > limit)
			break;
		clipped += width;
	}
	return clipped;
}

bool
parse_real(const char *value, double *result, int flags, const char **hintmsg)
{
	static const struct
	{
		const char *name;
		double		ms;
		double		step;		/* rounded to, 0 for none */
	}			units[] = {
		{"d", 86400000.0, 3600000.0},
		{"h", 3600000.0, 60000.0},
		{"min", 60000.0, 1000.0},
		{"s", 1000.0, 1.0},
		{"ms", 1.0, 0.001},
		{"us", 0.001, 0.0},
	};
	char	   *unit;
	size_t		length;
	double		number;
	size_t		i;

	*result = 0;
	*hintmsg = NULL;
	errno = 0;
	number = strtod(value, &unit);
	if (unit == value || errno == ERANGE || isnan(number))
		return false;
	while (isspace((unsigned char) *unit))
		unit++;
	if (*unit == '\0')
	{
		*result = number;
		return true;
	}

	length = strcspn(unit, " \t\n\r\v\f");
	if (unit[length + strspn(unit + length, " \t\n\r\v\f")] == '\0' &&
		flags == GUC_UNIT_MS)
	{
		for (i = 0; i < lengthof(units); i++)
		{
			if (strlen(units[i].name) != length ||
				strncmp(unit, units[i].name, length) != 0)
				continue;
			number *= units[i].ms;
			if (units[i].step > 0)
				number = rint(number / units[i].step) * units[i].step;
			*result = number;
			return true;
		}
	}
	*hintmsg = "Valid units are those of the server.";
	return false;
}

bool
parse_int(const char *value, int *result, int flags, const char **hintmsg)
{
	char	   *end;
	long		number;

	*result = 0;
	*hintmsg = NULL;
	errno = 0;
	number = strtol(value, &end, 0);
	if (end == value || *end != '\0' || flags != 0)
		return false;
	if (errno == ERANGE || number < INT_MIN || number > INT_MAX)
	{
		*hintmsg = "Value exceeds integer range.";
		return false;
	}
	*result = (int) number;
	return true;
}
