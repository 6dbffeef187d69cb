/*-------------------------------------------------------------------------
 *
 * guc.c
 *	  The settings: names, contexts, defaults and checks.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "guc.h"
#include "utils/guc.h"

bool		guc_enable = true;
int			guc_track = TRACK_COUNTS;

GucList		guc_spin_time = {"spin_time", POLICY_KIND_SPIN_TIME, 0, NULL, NULL, NULL};
GucList		guc_max_spinners = {"max_spinners", POLICY_KIND_COUNT, POLICY_COUNT_PROCESSORS, NULL, NULL, NULL};

static double guc_pause_ns = 0.0;

static const struct config_enum_entry track_levels[] = {
	{"none", TRACK_NONE, false},
	{"counts", TRACK_COUNTS, false},
	{"timing", TRACK_TIMING, false},
	{NULL, 0, false}
};

/*
 * A text that does not parse is refused, and the old value stays.
 */
static bool
check_list(const GucList *setting, const char *text, void **extra)
{
	char		error[POLICY_MESSAGE_SIZE];
	char		hint[POLICY_MESSAGE_SIZE];
	PolicyList *list = policy_parse(setting->kind, text, error, sizeof(error), hint, sizeof(hint));

	if (list == NULL)
	{
		GUC_check_errdetail("%s", error);
		if (hint[0] != '\0')
			GUC_check_errhint("%s", hint);
		return false;
	}
	*extra = list;
	return true;
}

static bool
check_spin_time(char **newval, void **extra, GucSource source)
{
	return check_list(&guc_spin_time, *newval, extra);
}

static bool
check_max_spinners(char **newval, void **extra, GucSource source)
{
	return check_list(&guc_max_spinners, *newval, extra);
}

static void
assign_spin_time(const char *newval, void *extra)
{
	guc_spin_time.list = extra;
}

static void
assign_max_spinners(const char *newval, void *extra)
{
	guc_max_spinners.list = extra;
}

/*
 * pause_ns is what calibration found, or 0 where there was nothing to tune.
 */
void
guc_define(double pause_ns)
{
	DefineCustomBoolVariable("lwtune.enable",
							 "Takes over the locks of the server at its start.",
							 "If off, lwtune touches nothing.",
							 &guc_enable, true, PGC_POSTMASTER, 0,
							 NULL, NULL, NULL);
	DefineCustomStringVariable("lwtune.spin_time",
							   "How long a backend spins for a lightweight lock before it queues.",
							   "A list: at most one plain value, the default for all tranches, and any number of tranche:value pairs. A value is 0, a time up to 10ms, or auto.",
							   &guc_spin_time.text, "0", PGC_SIGHUP, 0,
							   check_spin_time, assign_spin_time, NULL);
	DefineCustomStringVariable("lwtune.max_spinners",
							   "How many backends may spin on one lightweight lock at once.",
							   "A list as for lwtune.spin_time. -1 is as many as there are processors less one.",
							   &guc_max_spinners.text, "-1", PGC_SIGHUP, 0,
							   check_max_spinners, assign_max_spinners, NULL);
	DefineCustomEnumVariable("lwtune.track",
							 "What is recorded about lightweight locks.",
							 "counts: counters; timing: wait times too; none: nothing.",
							 &guc_track, TRACK_COUNTS, track_levels, PGC_SIGHUP, 0,
							 NULL, NULL, NULL);
	DefineCustomRealVariable("lwtune.pause_ns",
							 "Shows how long one pause of a spinning processor takes, in nanoseconds, measured at server start.",
							 NULL,
							 &guc_pause_ns, pause_ns, 0.0, 1e9, PGC_INTERNAL,
							 GUC_NOT_IN_SAMPLE | GUC_DISALLOW_IN_FILE,
							 NULL, NULL, NULL);
	MarkGUCPrefixReserved("lwtune");
}
