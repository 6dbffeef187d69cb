/*-------------------------------------------------------------------------
 *
 * patch_x86_64.c
 *	  What the takeover has to know of x86-64 instructions.
 *
 * It writes two of them and recognises a handful; nothing is disassembled.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "patch.h"

#ifdef __x86_64__

#include <emmintrin.h>

/* jmp rel32 */
const size_t arch_jump_size = 5;

/* jmp *slot(%rip), padded with int3 */
const size_t arch_stub_size = 16;

/* what rel32 can span, less the length of any server's text */
const size_t arch_island_reach = (size_t) 0x7f000000;

static const uint8 endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

/*
 * Length of the landing pad at the start of a function: it has to stay, for
 * an indirect call must find it.
 */
size_t
arch_landing_pad(const uint8 *entry)
{
	return memcmp(entry, endbr64, sizeof(endbr64)) == 0 ? sizeof(endbr64) : 0;
}

/*
 * Is this the start of a function as a compiler writes it?  NULL if so, else
 * what it looks like.  The text has been compared with the file before, so
 * what is found here was put into the file.
 */
const char *
arch_foreign_entry(const uint8 *code, size_t length)
{
	if (code[0] == 0xe9 || code[0] == 0xeb)
		return "a jump";
	if (length >= 2 && code[0] == 0xff && code[1] == 0x25)
		return "an indirect jump";
	if (length >= 3 && code[0] == 0x3e && code[1] == 0xff && code[2] == 0x25)
		return "an indirect jump";
	if (code[0] == 0xe8)
		return "a call of a tracer";
	if (code[0] == 0xcc)
		return "a breakpoint";
	if (length >= 2 && code[0] == 0x0f && code[1] == 0x0b)
		return "an invalid instruction";
	if (length >= 6 && code[0] == 0x68 && code[5] == 0xc3)
		return "a pushed return address";
	if (length >= 12 && code[0] == 0x48 && code[1] == 0xb8 &&
		code[10] == 0xff && code[11] == 0xe0)
		return "an absolute jump";
	return NULL;
}

/*
 * Write into out the jump that will stand at "at".  False if it cannot reach.
 */
bool
arch_encode_jump(uint8 *out, uintptr_t at, uintptr_t destination)
{
	int64		distance = (int64) destination - (int64) (at + arch_jump_size);
	int32		rel32 = (int32) distance;

	if (distance != rel32)
		return false;
	out[0] = 0xe9;
	memcpy(out + 1, &rel32, sizeof(rel32));
	return true;
}

/*
 * Write into out the stub that will stand at "at" and jumps to where slot
 * points.  The slot is on the next page, so the distance always fits.  The
 * notrack prefix keeps the jump legal under indirect branch tracking, where
 * a replacement would need a landing pad of its own.
 */
void
arch_encode_stub(uint8 *out, uintptr_t at, uintptr_t slot)
{
	int32		rel32 = (int32) ((int64) slot - (int64) (at + 7));

	memset(out, 0xcc, arch_stub_size);
	out[0] = 0x3e;
	out[1] = 0xff;
	out[2] = 0x25;
	memcpy(out + 3, &rel32, sizeof(rel32));
}

/* Instruction caches are coherent here. */
void
arch_text_written(void *start, size_t length)
{
	(void) start;
	(void) length;
}

/*
 * Lengths of immediate operands that may follow a rip-relative operand, as a
 * bit per length.  The displacement counts from the end of the instruction,
 * so they decide what it refers to.  Where the opcode alone does not tell,
 * several are given: a wrong one can only make the check refuse.
 */
static unsigned
immediate_lengths(const uint8 *modrm)
{
	uint8		opcode = modrm[-1];

	if (modrm[-2] == 0x0f)
	{
		switch (opcode)
		{
			case 0x70:			/* pshuf */
			case 0xa4:			/* shld, shrd */
			case 0xac:
			case 0xba:			/* bt group */
			case 0xc2:			/* cmpps */
			case 0xc4:			/* pinsrw, shufps */
			case 0xc6:
				return 1 << 1;
			default:
				return 1 << 0;
		}
	}
	switch (opcode)
	{
		case 0x6b:
		case 0x80:
		case 0x83:
		case 0xc0:
		case 0xc1:
		case 0xc6:
			return 1 << 1;
		case 0x69:
		case 0x81:
		case 0xc7:
			return 1 << 2 | 1 << 4;
		case 0xf6:				/* test has one, not and neg have none */
			return 1 << 0 | 1 << 1;
		case 0xf7:
			return 1 << 0 | 1 << 2 | 1 << 4;
		default:
			return 1 << 0;
	}
}

/*
 * One-byte opcodes that a ModRM byte follows, a bit for each, 32 in a word.
 */
static const uint32 opcodes_with_modrm[8] = {
	0x0f0f0f0f,					/* 00-03, 08-0b, 10-13, 18-1b: arithmetic */
	0x0f0f0f0f,					/* 20-23, 28-2b, 30-33, 38-3b */
	0x00000000,					/* 40-5f: prefixes, push, pop */
	0x00000a08,					/* 63 movslq; 69, 6b imul */
	0x0000fffb,					/* 80, 81, 83-8f */
	0x00000000,					/* a0-bf */
	0xff0f00c3,					/* c0, c1, c6, c7; d0-d3; d8-df */
	0xc0c00000,					/* f6, f7; fe, ff */
};

/*
 * Can this byte be a ModRM byte, by the five before it?  It cannot if the last is
 * an opcode which has none, unless an escape or a prefix makes it another one.
 * Without this, "jmp" over a padding "nopl" looks like an operand some 4 or 8 MB
 * away, and sooner or later one meets a range.
 */
static bool
may_be_modrm(const uint8 *at)
{
	uint8		opcode = at[-1];

	if (opcodes_with_modrm[opcode / 32] & ((uint32) 1 << opcode % 32))
		return true;
	return at[-2] == 0x0f ||	/* two-byte opcodes */
		(at[-3] == 0x0f && (at[-2] == 0x38 || at[-2] == 0x3a)) ||
		at[-3] == 0xd5 ||		/* REX2 */
		at[-3] == 0xc5 ||		/* VEX, two and three bytes */
		at[-4] == 0xc4 ||
		at[-4] == 0x8f ||		/* XOP */
		at[-5] == 0x62;			/* EVEX */
}

/* What the scan looks for. */
typedef struct Scan
{
	const uint8 *text;
	const PatchRange *ranges;
	int			nranges;
	uintptr_t	low;			/* all ranges lie between these, with room for */
	uintptr_t	high;			/* an immediate operand before */
	arch_reference_visitor visit;
	void	   *context;
} Scan;

/*
 * A byte of the text that may be the ModRM byte of a rip-relative operand: is
 * what follows the distance of one of the ranges?
 */
static bool
visit_operand(const Scan *scan, const uint8 *modrm)
{
	int32		rel32;
	uintptr_t	refers_to;
	unsigned	lengths;

	memcpy(&rel32, modrm + 1, sizeof(rel32));
	refers_to = (uintptr_t) (modrm + 1 + sizeof(rel32)) + (intptr_t) rel32;
	if (refers_to < scan->low || refers_to >= scan->high)
		return true;
	/* unless it is too near to the start to tell */
	if (modrm - scan->text >= 5 && !may_be_modrm(modrm))
		return true;

	lengths = immediate_lengths(modrm);
	for (int i = 0; i < scan->nranges; i++)
	{
		for (int length = 0; length <= 4; length++)
		{
			if ((lengths & (1 << length)) == 0 ||
				refers_to + length - scan->ranges[i].start >= scan->ranges[i].length)
				continue;
			if (!scan->visit((uintptr_t) modrm, &scan->ranges[i], scan->context))
				return false;
			break;
		}
	}
	return true;
}

/*
 * Find every rip-relative operand that refers to one of the ranges: look at
 * each byte of the text that could be a ModRM byte which announces one, and
 * take the next four for its displacement.  Nothing is decoded, so that no
 * instruction can be missed; only bytes that cannot be an operand are passed
 * over.  Others that mean something else can at worst make the takeover refuse.
 */
bool
arch_scan_references(const PatchServer *server, const PatchRange *ranges, int nranges,
					 arch_reference_visitor visit, void *context)
{
	const __m128i mask = _mm_set1_epi8((char) 0xc7);
	const __m128i rip_relative = _mm_set1_epi8(0x05);
	const uint8 *text = (const uint8 *) server->text;
	const uint8 *last = text + server->text_length - sizeof(int32) - 1;
	Scan		scan = {text, ranges, nranges, UINTPTR_MAX, 0, visit, context};
	const uint8 *at = text + 2; /* an opcode and its prefix come before */

	for (int i = 0; i < nranges; i++)
	{
		scan.low = Min(scan.low, ranges[i].start);
		scan.high = Max(scan.high, ranges[i].start + ranges[i].length);
	}
	scan.low -= sizeof(int32);

	for (; at + 16 <= last; at += 16)
	{
		__m128i		bytes = _mm_loadu_si128((const __m128i *) at);
		unsigned	found = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_and_si128(bytes, mask), rip_relative));

		for (; found != 0; found &= found - 1)
		{
			if (!visit_operand(&scan, at + __builtin_ctz(found)))
				return false;
		}
	}
	for (; at <= last; at++)
	{
		if ((*at & 0xc7) == 0x05 && !visit_operand(&scan, at))
			return false;
	}
	return true;
}

#endif							/* __x86_64__ */
