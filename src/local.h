/*
 * local.h
 *	  Keeps what the files of lwtune share out of the dynamic symbol table.
 *
 * Hidden variables are reached without the global offset table, which the
 * lock functions would notice, and cannot collide with another library's.
 */
#ifndef LWTUNE_LOCAL_H
#define LWTUNE_LOCAL_H

#define LWTUNE_BEGIN_LOCAL _Pragma("GCC visibility push(hidden)")
#define LWTUNE_END_LOCAL _Pragma("GCC visibility pop")

#endif							/* LWTUNE_LOCAL_H */
