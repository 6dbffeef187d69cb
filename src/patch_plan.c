/*-------------------------------------------------------------------------
 *
 * patch_plan.c
 *	  The takeover as a whole: preflight, apply, self-test, or the way back.
 *
 * All or nothing.  Up to text_swap() nothing of the server is changed; from
 * there on every failure restores the file's own pages.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <dirent.h>
#include <signal.h>

#include "compat.h"
#include "patch.h"
#include "portability/instr_time.h"
#include "utils/guc.h"

PatchReport patch_report = {PATCH_STOCK, NULL, 0.0};

static char refusal[PATCH_REASON_LEN];
static char target_refusal[PATCH_REASON_LEN];

/* All pages of text that hold an entry to redirect: few, and close together. */
#define MAX_RUNS 16

typedef struct PatchPlan
{
	PatchServer server;
	PatchIsland island;
	PatchPages	runs[MAX_RUNS];
	int			nruns;
} PatchPlan;

/*
 * Note why the takeover is refused.  Only the first reason counts; what fails
 * on the way back is a consequence.
 */
bool
patch_refuse(PatchTarget *target, const char *fmt,...)
{
	va_list		args;

	if (patch_report.reason != NULL)
		return false;
	va_start(args, fmt);
	vsnprintf(refusal, sizeof(refusal), fmt, args);
	va_end(args);
	patch_report.reason = refusal;
	if (target != NULL)
	{
		strlcpy(target_refusal, refusal, sizeof(target_refusal));
		target->reason = target_refusal;
	}
	return false;
}

void
patch_leave_stock(const char *reason)
{
	patch_report.state = PATCH_STOCK;
	patch_report.reason = reason;
}

static bool
check_version(void)
{
	const char *running = GetConfigOption("server_version_num", true, false);

	if (running == NULL)
		return patch_refuse(NULL, "the server does not tell its version");
	if (atoi(running) / 10000 != LWTUNE_BUILT_FOR_MAJOR)
		return patch_refuse(NULL, "this lwtune was built for PostgreSQL %d, the server is %d",
							LWTUNE_BUILT_FOR_MAJOR, atoi(running) / 10000);
	return true;
}

/*
 * Another thread could be executing what we are about to change, or read a
 * half-written instruction.
 */
static bool
check_single_thread(void)
{
	DIR		   *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	int			nthreads = 0;

	if (tasks == NULL)
		return patch_refuse(NULL, "cannot count threads in /proc/self/task: %s", strerror(errno));
	for (;;)
	{
		/* only errno tells an error from the end */
		errno = 0;
		if ((entry = readdir(tasks)) == NULL)
			break;
		if (entry->d_name[0] != '.')
			nthreads++;
	}
	if (errno != 0)
	{
		patch_refuse(NULL, "cannot count threads in /proc/self/task: %s", strerror(errno));
		closedir(tasks);
		return false;
	}
	closedir(tasks);
	if (nthreads != 1)
		return patch_refuse(NULL, "the postmaster has %d threads, a library loaded before lwtune started some: list lwtune first in shared_preload_libraries",
							nthreads);
	return true;
}

typedef struct ClosureContext
{
	int			nreferences[PATCH_NPRIVATE];
	const PatchServer *server;
} ClosureContext;

static bool
reference_is_redirected(uintptr_t instruction, const PatchRange *range, void *context)
{
	ClosureContext *closure = context;

	closure->nreferences[range - closure->server->private_state]++;
	for (int i = 0; i < patch_ntargets; i++)
	{
		if (instruction - (uintptr_t) patch_targets[i].entry < patch_targets[i].size)
			return true;
	}
	return patch_refuse(NULL, "the server's %s is also used at offset 0x%lx of its text, outside of the functions that lwtune replaces",
						range->name, (unsigned long) (instruction - closure->server->text));
}

/*
 * The replacements keep state of their own, so nobody may look at the stock
 * one any more: every reference to it has to be in a function that we replace.
 * A variable without any reference means that the scan does not see how this
 * build reaches its variables.
 */
static bool
check_closure(const PatchServer *server)
{
	ClosureContext closure = {{0}, server};

	if (!arch_scan_references(server, server->private_state, PATCH_NPRIVATE,
							  reference_is_redirected, &closure))
		return false;
	for (int i = 0; i < PATCH_NPRIVATE; i++)
	{
		if (closure.nreferences[i] == 0)
			return patch_refuse(NULL, "no reference to the server's %s was found, so it cannot be shown that all are replaced",
								server->private_state[i].name);
	}
	return true;
}

/*
 * Which pages have to be changed: the runs of pages that hold an entry.
 */
static bool
collect_runs(PatchPlan *plan)
{
	uintptr_t	page = text_page_size();

	plan->nruns = 0;
	for (int i = 0; i < patch_ntargets; i++)
	{
		uintptr_t	first = (uintptr_t) patch_targets[i].jump_at;
		uintptr_t	last = first + arch_jump_size - 1;

		/* an entry that crosses into the next page needs both */
		for (uintptr_t at = first - first % page; at <= last; at += page)
		{
			bool		known = false;

			for (int run = 0; run < plan->nruns && !known; run++)
				known = plan->runs[run].start == at;
			if (known)
				continue;
			if (plan->nruns == MAX_RUNS)
				return patch_refuse(NULL, "the functions to replace are spread over more than %d pages", MAX_RUNS);
			plan->runs[plan->nruns++] = (PatchPages) {at, page, NULL, false};
		}
	}
	return true;
}

/*
 * A page that differs from the file has been changed by somebody else, a
 * debugger's or tracer's breakpoint or another hooking library; replacing it
 * would silently undo that.
 */
static bool
check_pages(PatchPlan *plan)
{
	for (int run = 0; run < plan->nruns; run++)
	{
		PatchPages *pages = &plan->runs[run];
		uintptr_t	text_end = plan->server.text + plan->server.text_length;
		uintptr_t	start = Max(pages->start, plan->server.text);
		size_t		length = Min(pages->start + pages->length, text_end) - start;
		size_t		at;
		PatchTarget *inside = NULL;

		if (text_equals_file(&plan->server, start, length, &at))
			continue;
		if (at == SIZE_MAX)
			return patch_refuse(NULL, "cannot read the server's executable: %s", strerror(errno));
		for (int i = 0; i < patch_ntargets && inside == NULL; i++)
		{
			if (start + at - (uintptr_t) patch_targets[i].entry < patch_targets[i].size)
				inside = &patch_targets[i];
		}
		return patch_refuse(inside, "the server's text differs from its file in memory at %s%soffset 0x%lx: something else has changed it (a debugger, a tracer or another hooking library)",
							inside ? inside->name : "", inside ? ", " : "",
							(unsigned long) (start + at - plan->server.text));
	}
	return true;
}

/*
 * What the file holds at an entry has to be the start of a function.
 */
static bool
check_entries(void)
{
	for (int i = 0; i < patch_ntargets; i++)
	{
		PatchTarget *target = &patch_targets[i];
		size_t		pad = target->jump_at - target->entry;
		const char *foreign = arch_foreign_entry(target->jump_at, target->size - pad);

		if (foreign != NULL)
			return patch_refuse(target, "%s starts with %s: something else has changed it in the file",
								target->name, foreign);
	}
	return true;
}

static bool
build_island(PatchPlan *plan)
{
	if (!island_map(&plan->server, &plan->island))
		return false;
	if ((size_t) patch_ntargets * arch_stub_size > text_page_size())
		return patch_refuse(NULL, "too many functions for one page of stubs");
	for (int i = 0; i < patch_ntargets; i++)
	{
		uint8	   *stub = plan->island.code + i * arch_stub_size;

		plan->island.slots[i] = patch_targets[i].recorder;
		arch_encode_stub(stub, (uintptr_t) stub, (uintptr_t) &plan->island.slots[i]);
	}
	return island_seal_code(&plan->island);
}

/*
 * Write the jumps into copies of the pages, which nobody executes yet.
 */
static bool
build_pages(PatchPlan *plan)
{
	for (int run = 0; run < plan->nruns; run++)
	{
		PatchPages *pages = &plan->runs[run];

		if (!text_prepare(&plan->server, pages))
			return false;
		for (int i = 0; i < patch_ntargets; i++)
		{
			uint8		jump[PATCH_MAX_JUMP];
			uintptr_t	at = (uintptr_t) patch_targets[i].jump_at;
			uintptr_t	stub = (uintptr_t) (plan->island.code + i * arch_stub_size);

			if (!arch_encode_jump(jump, at, stub))
				return patch_refuse(&patch_targets[i], "%s is too far from the island of stubs", patch_targets[i].name);
			for (size_t b = 0; b < arch_jump_size; b++)
			{
				if (at + b - pages->start < pages->length)
					pages->aside[at + b - pages->start] = jump[b];
			}
		}
		if (!text_seal(pages))
			return false;
	}
	return true;
}

/*
 * Swap the pages in, test, and let the stubs go to the replacements proper.
 */
static bool
apply(PatchPlan *plan)
{
	for (int run = 0; run < plan->nruns; run++)
	{
		if (!text_swap(&plan->runs[run]))
			return false;
	}
	if (!selftest_recorders())
		return false;
	for (int i = 0; i < patch_ntargets; i++)
		plan->island.slots[i] = patch_targets[i].replacement;
	if (!island_seal_slots(&plan->island))
		return false;
	return selftest_replacements();
}

/*
 * The way back.  A page that cannot be restored leaves the server with
 * replaced locks that failed their test, which must not run.
 */
static void
revert(PatchPlan *plan)
{
	for (int run = 0; run < plan->nruns; run++)
	{
		if (!text_restore(&plan->server, &plan->runs[run]))
			elog(FATAL, "lwtune could not restore the server's text after \"%s\"; remove lwtune from shared_preload_libraries",
				 patch_report.reason);
		text_discard(&plan->runs[run]);
	}
	island_unmap(&plan->island);
}

static bool
preflight(PatchPlan *plan)
{
	return check_version() &&
		check_single_thread() &&
		text_open() &&
		patch_find_server(&plan->server) &&
		patch_find_targets(&plan->server) &&
		collect_runs(plan) &&
		check_pages(plan) &&
		check_entries() &&
		patch_find_private_state(&plan->server) &&
		check_closure(&plan->server) &&
		text_protection_changes(&plan->server);
}

bool
patch_take_over(void)
{
	static PatchPlan plan;
	instr_time	start;
	instr_time	elapsed;
	bool		done = false;

	INSTR_TIME_SET_CURRENT(start);
	if (preflight(&plan))
	{
		sigset_t	all;
		sigset_t	before;

		/* no handler may run while one half is stock and the other is ours */
		sigfillset(&all);
		if (sigprocmask(SIG_SETMASK, &all, &before) != 0)
			patch_refuse(NULL, "cannot block signals: %s", strerror(errno));
		else
		{
			done = build_island(&plan) && build_pages(&plan) && apply(&plan);
			if (!done)
				revert(&plan);
			sigprocmask(SIG_SETMASK, &before, NULL);
		}
	}
	text_close();
	INSTR_TIME_SET_CURRENT(elapsed);
	INSTR_TIME_SUBTRACT(elapsed, start);
	patch_report.elapsed_ms = INSTR_TIME_GET_MILLISEC(elapsed);
	patch_report.state = done ? PATCH_REDIRECTED : PATCH_REFUSED;
	return done;
}
