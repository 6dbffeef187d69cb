# lwtune: runtime-swappable lock tuning for a stock PostgreSQL server
#
#   make && make install	build with the server's headers, install
#   make installcheck		test against a running server that preloads lwtune
#   make demo				see it work, on a throw-away server
#   make test				install what is missing, run every test
#   make bench				measure

EXTENSION = lwtune
MODULE_big = lwtune
DATA = sql/lwtune--0.1.0.sql

REGRESS = $(sort $(notdir $(basename $(filter-out sql/lwtune--%, $(wildcard sql/*.sql)))))

# demo, test and bench come before there may be a compiler or a server
ifneq ($(filter demo test test-deep bench,$(MAKECMDGOALS)),)

.PHONY: demo test test-deep bench
demo:
	test/setup demo && bench/demo
test:
	test/setup test && test/run
test-deep:
	test/setup deep && test/run deep
bench:
	test/setup bench && bench/run

else

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
ifeq ($(wildcard $(PGXS)),)
$(error $(PG_CONFIG) does not lead to the server's development files: install postgresql-server-dev-15, or set PG_CONFIG)
endif

PG_MAJOR := $(firstword $(subst ., ,$(lastword $(subst devel, ,$(wordlist 2,2,$(shell $(PG_CONFIG) --version))))))
ifeq ($(wildcard src/lock_pg$(PG_MAJOR).c),)
$(error PostgreSQL $(PG_MAJOR) is not supported: there is no src/lock_pg$(PG_MAJOR).c)
endif

# (set in the server's Makefile.global, which is not read yet)
ARCHITECTURE := $(shell uname -m)
ifeq ($(wildcard src/patch_$(ARCHITECTURE).c),)
$(error the architecture $(ARCHITECTURE) is not supported: there is no src/patch_$(ARCHITECTURE).c)
endif

# without it a server that has probes would lose them
ifneq ($(shell grep -l sys/sdt.h $(shell $(PG_CONFIG) --includedir-server)/utils/probes.h),)
ifeq ($(wildcard /usr/include/sys/sdt.h /usr/include/$(ARCHITECTURE)-linux-gnu/sys/sdt.h),)
$(error the server has USDT probes, and building them takes sys/sdt.h: install systemtap-sdt-dev)
endif
endif

OBJS = $(addprefix src/, \
	lwtune.o guc.o shared.o \
	patch_plan.o patch_symbols.o patch_text.o patch_$(ARCHITECTURE).o patch_selftest.o \
	lock_pg$(PG_MAJOR).o spinlock.o spin_wait.o spin_policy.o spin_pace.o calibrate.o probe.o tranche.o \
	policy_parse.o policy_shmem.o learn.o worker.o \
	stat_slab.o stat_views.o)

# the server's headers are not ours to keep clean of warnings
PG_CPPFLAGS = -isystem $(shell $(PG_CONFIG) --includedir-server)
PG_CFLAGS = -Wall -Wextra -Wno-unused-parameter

SHLIB_LINK += -lm

# the lock functions are no good to inline into expressions
override with_llvm = no

include $(PGXS)

# every object knows its headers
$(OBJS): $(wildcard src/*.h)

endif
