/*-------------------------------------------------------------------------
 *
 * patch.h
 *	  The takeover: redirecting the server's lock functions, or refusing to.
 *
 * See "Takeover" in README for the protocol and its invariants.
 *
 *-------------------------------------------------------------------------
 */
#ifndef LWTUNE_PATCH_H
#define LWTUNE_PATCH_H

#include "local.h"

LWTUNE_BEGIN_LOCAL

/* Longest text of a refusal, one line of the log. */
#define PATCH_REASON_LEN 512

/* Longest jump that any architecture writes over an entry. */
#define PATCH_MAX_JUMP 16

typedef enum PatchState
{
	PATCH_STOCK,				/* not asked to take over */
	PATCH_REDIRECTED,
	PATCH_REFUSED
} PatchState;

/* One function of the server. */
typedef struct PatchTarget
{
	const char *name;
	void	   *replacement;	/* where it goes when the takeover is done */
	void	   *recorder;		/* where it goes during the self-test */
	uint8	   *entry;			/* its address in the server */
	size_t		size;			/* its length in bytes, from the symbol table */
	uint8	   *jump_at;		/* entry, behind a landing pad */
	uint32		calls;			/* calls that the self-test made and saw */
	const char *reason;			/* why this one was refused, or NULL */
} PatchTarget;

/* Everything that is known of the attempt; children inherit it by fork. */
typedef struct PatchReport
{
	PatchState	state;
	const char *reason;			/* why nothing was redirected, or NULL */
	double		elapsed_ms;		/* of the whole attempt */
} PatchReport;

extern PatchTarget patch_targets[];
extern const int patch_ntargets;
extern PatchReport patch_report;

/* patch_plan.c: all or nothing; true if the server's locks are ours now */
extern bool patch_take_over(void);
extern void patch_leave_stock(const char *reason);

/*
 * Every step of the takeover returns true, or false having said why through
 * patch_refuse(); nothing is thrown, so that there is always a way back.
 */
extern bool patch_refuse(PatchTarget *target, const char *fmt,...) pg_attribute_printf(2, 3);

/* patch_symbols.c: the functions, the server's segments, its private state */
typedef struct PatchRange
{
	const char *name;
	uintptr_t	start;
	size_t		length;
} PatchRange;

#define PATCH_NPRIVATE 3

typedef struct PatchServer
{
	uintptr_t	text;			/* executable segment */
	size_t		text_length;
	uint64		text_offset;	/* where the file holds it */
	uintptr_t	data;			/* writable segment */
	size_t		data_length;
	PatchRange	private_state[PATCH_NPRIVATE];
} PatchServer;

extern bool patch_find_server(PatchServer *server);
extern bool patch_find_targets(const PatchServer *server);
extern bool patch_find_private_state(PatchServer *server);

/* patch_text.c: pages */
typedef struct PatchPages
{
	uintptr_t	start;			/* page aligned, in the server's text */
	size_t		length;
	uint8	   *aside;			/* the copy in preparation, or NULL */
	bool		swapped;
} PatchPages;

typedef struct PatchIsland
{
	uint8	   *code;			/* one page of stubs */
	void	  **slots;			/* the page behind it: where each stub goes */
} PatchIsland;

extern bool text_open(void);
extern void text_close(void);
extern bool text_equals_file(const PatchServer *server, uintptr_t start, size_t length, size_t *differs_at);
extern bool text_protection_changes(const PatchServer *server);
extern bool text_prepare(const PatchServer *server, PatchPages *pages);
extern bool text_seal(PatchPages *pages);
extern bool text_swap(PatchPages *pages);
extern bool text_restore(const PatchServer *server, PatchPages *pages);
extern void text_discard(PatchPages *pages);
extern bool island_map(const PatchServer *server, PatchIsland *island);
extern bool island_seal_code(PatchIsland *island);
extern bool island_seal_slots(PatchIsland *island);
extern void island_unmap(PatchIsland *island);
extern size_t text_page_size(void);

/* patch_<architecture>.c: instructions */
extern const size_t arch_jump_size;
extern const size_t arch_stub_size;
extern const size_t arch_island_reach;
extern size_t arch_landing_pad(const uint8 *entry);
extern const char *arch_foreign_entry(const uint8 *code, size_t length);
extern bool arch_encode_jump(uint8 *out, uintptr_t at, uintptr_t destination);
extern void arch_encode_stub(uint8 *out, uintptr_t at, uintptr_t slot);
extern void arch_text_written(void *start, size_t length);

/* Calls visit() for each instruction of the text that refers to a range. */
typedef bool (*arch_reference_visitor) (uintptr_t instruction, const PatchRange *range, void *context);
extern bool arch_scan_references(const PatchServer *server, const PatchRange *ranges, int nranges,
								 arch_reference_visitor visit, void *context);

/* patch_selftest.c: through the server's own entries */
extern bool selftest_recorders(void);
extern bool selftest_replacements(void);

LWTUNE_END_LOCAL

#endif							/* LWTUNE_PATCH_H */
