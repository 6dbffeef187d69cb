/*-------------------------------------------------------------------------
 *
 * lwtune.c
 *	  Entry into the library.  No logic here.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "calibrate.h"
#include "fmgr.h"
#include "guc.h"
#include "miscadmin.h"
#include "patch.h"
#include "shared.h"
#include "tranche.h"
#include "worker.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

static void
report_takeover(void)
{
	if (patch_report.state == PATCH_REDIRECTED)
		ereport(LOG,
				(errmsg("lwtune took over the server's locks: %d functions in %.1f ms, one pause takes %.1f ns",
						patch_ntargets, patch_report.elapsed_ms, calibrate_pause_ns())));
	else
		ereport(WARNING,
				(errmsg("lwtune did not take over the server's locks: %s", patch_report.reason),
				 errdetail("The server runs with its own locks, as if lwtune were not loaded."),
				 errhint("See the view lwtune_status.  Set lwtune.enable to off to start without this warning.")));
}

void
_PG_init(void)
{
	if (IsBinaryUpgrade)
		return;

	if (!process_shared_preload_libraries_in_progress)
	{
		patch_leave_stock("lwtune is not in shared_preload_libraries");
		ereport(WARNING,
				(errmsg("lwtune is not in effect: it can take over locks only at server start"),
				 errhint("Add lwtune to shared_preload_libraries and restart the server.")));
		return;
	}

	guc_define(calibrate_pause_ns());
	if (!guc_enable)
	{
		patch_leave_stock("lwtune.enable is off");
		return;
	}
	tranche_remember_builtin();
	if (patch_take_over())
	{
		shared_install_hooks();
		worker_register();
	}
	report_takeover();
}
