#
# test/compare.sh
#	  The same tests in three configurations, compared one by one (sourced).
#
# Not the outcome of a test is tested, but that lwtune does not change it: the
# source that the tests are from may be of another minor than the server, and
# then some fail everywhere.  Those must fail in the same way.
#
#	stock		without lwtune
#	lwtune		with lwtune as it comes
#	lwtune-all	with every setting turned on that test/fault/settings.list has
#
# A difference may be the test's own: so what differs is run once more, alone,
# in all three, before it is called a difference; and is reported either way.
#
# Source after workdir.sh.  The script says how its tests are run:
#
#	run_suite SUITE ROUND [TEST]...	in each configuration, all tests or these;
#							leaves $LWT_LOG/SUITE-CONFIGURATION$ROUND.outcome, a
#							line for each test: its name, ok, FAILED or skipped,
#							and what tells one such outcome from another
#
# and has from here:
#
#	test_suite SUITE [TEST]...	run, compare, report
#	configure CONFIGURATION [LIBRARY]...	the lines for postgresql.conf, into the
#							array conf
#	pg_regress_run RUN SET PROGRAM FOLDER [ARGUMENT]...	on the server that runs;
#							outcomes are added to $LWT_LOG/RUN.outcome, each test
#							being called SET/TEST, or TEST if SET is empty
#	check_lwtune RUN CONFIGURATION	was that server lwtune's, and did it live?
#	report					stdin, lines of TAP, to stdout and to what finish counts
#	finish					the plan; the status says if anything failed
#

configurations=(stock lwtune lwtune-all)

# more than this many differences are not by chance
repeat_at_most=10

every_setting_on()
{
	sed -n "s/^\(lwtune\.[a-z_]*\)[[:space:]]*|[[:space:]]*\([^|]*[^|[:space:]]\).*/\1 = '\2'/p" \
		"$lwt_root/test/fault/settings.list"
}

configure()
{
	local configuration=$1 libraries

	shift
	[ "$configuration" = stock ] || set -- "$@" lwtune
	libraries="$*"
	conf=("shared_preload_libraries = '${libraries// /, }'")
	if [ "$configuration" = lwtune-all ]; then
		mapfile -t -O 1 conf < <(every_setting_on)
		[ ${#conf[@]} -gt 1 ] || die "no setting in test/fault/settings.list"
	fi
}

report()
{
	tee -a "$LWT_LOG/$(basename "$0").results"
}

finish()
{
	local results

	results=$LWT_LOG/$(basename "$0").results
	echo "1..$(grep -cE '^(not )?ok ' "$results")"
	! grep -q '^not ok ' "$results"
}

#
# pg_regress and its kin
#

pg_regress_run()
{
	local run=$1 set=${2:+$2/} program=$3 folder=$4 out=$LWT_WORK/out-$1${2:+/$2} log=$LWT_LOG/$1${2:+-$2}.out
	local test outcome

	shift 4
	run_as mkdir -p "$out"
	# as the first thing in the log: what was compared with what
	psql_run -Atc "select '# ' || version()" >"$log"
	guard 1800 "$program" --inputdir="$folder" --outputdir="$out" --bindir="$LWT_BIN" \
		--host="$PGHOST" --port="$PGPORT" --user=postgres "$@" 2>&1 |
		tee -a "$log" | show_progress "$run" || true

	sed -n -E 's/^(test |     )([^ ]+) +\.\.\. (ok|FAILED|failed \(ignored\)).*/\2 \3/p' "$log" |
		while read -r test outcome; do
			if [ "$outcome" = ok ]; then
				echo "$set$test ok"
			else
				echo "$set$test FAILED $(cksum <"$out/results/$test.out" 2>/dev/null || echo none)"
			fi
		done >>"$LWT_LOG/$run.outcome"
}

# A line now and then, instead of one for each test.
show_progress()
{
	perl -ne '
		BEGIN { $| = 1; $n = 0; $name = shift @ARGV; $start = $last = time }
		$n++ if /\.\.\. (ok|FAILED|failed)/;
		if (time - $last >= 15) {
			$last = time;
			printf STDERR "# %s: %d tests, %d s\n", $name, $n, $last - $start;
		}' "$1"
}

# A server that refused the takeover, or that crashed and came back, would prove
# nothing.
check_lwtune()
{
	local run=$1 redirected acquired blocked spun

	[ "$2" != stock ] || return 0
	# afterwards, so that the tests see a server without the extension's objects
	psql_run -c "CREATE EXTENSION lwtune" || true
	IFS='|' read -r redirected acquired blocked spun <<<"$(psql_run -At -c "
		SELECT (SELECT count(*) FROM lwtune_status WHERE state = 'redirected'),
			   sum(sh_acquire_count + ex_acquire_count), sum(block_count),
			   sum(spin_acquire_count)
		FROM lwtune_stats" || true)"
	if [ "${redirected:-0}" -gt 0 ]; then
		echo "ok - $run: the server ran on lwtune's locks" | report
		say "# $run: $redirected functions redirected, $acquired acquisitions," \
			"$blocked with a sleep, $spun with a spin that paid"
	else
		echo "not ok - $run: the server ran on lwtune's locks" | report
		grep 'lwtune did not take over' "$LWT_LOG/$run.log" | sed 's/^/# server: /' >&2 || true
	fi
	if grep -qE 'PANIC:|TRAP:|was terminated by signal' "$LWT_LOG/$run.log"; then
		echo "not ok - $run: the server did not crash" | report
	else
		echo "ok - $run: the server did not crash" | report
	fi
}

#
# Comparison
#

# compare SUITE CONFIGURATION: a line of TAP for each test that stock ran.
compare()
{
	awk -v suite="$1" -v configuration="$2" '
		function word(s) { sub(/ .*/, "", s); return s }
		{ name = $1; sub(/^[^ ]+ /, "") }
		FILENAME == ARGV[1] { base[name] = $0; order[++n] = name; next }
		{ got[name] = $0 }
		END {
			for (i = 1; i <= n; i++)
			{
				name = order[i]
				test = suite "/" name " with " configuration
				if (!(name in got))
					printf "not ok - %s: did not run (stock: %s)\n", test, base[name]
				else if (got[name] == base[name])
					printf "ok - %s: %s, as without\n", test, word(got[name])
				else
					printf "not ok - %s: %s, but without: %s\n", test, got[name], base[name]
			}
			for (name in got)
				if (!(name in base))
					printf "not ok - %s/%s with %s: did not run without\n", suite, name, configuration
			if (n == 0)
				printf "not ok - %s: no test ran without lwtune\n", suite
		}' "$LWT_LOG/$1-stock.outcome" "$LWT_LOG/$1-$2.outcome"
}

# What differs in any configuration.
differing()
{
	local configuration

	for configuration in "${configurations[@]:1}"; do
		compare "$1" "$configuration"
	done | sed -n "s,^not ok - $1/\([^ ]*\) with .*,\1,p" | sort -u
}

# Outcomes of the second round take the place of those of the first.
repeat_differing()
{
	local suite=$1 configuration test file tests

	mapfile -t tests < <(differing "$suite")
	[ ${#tests[@]} -gt 0 ] || return 0
	say "# $suite: different at first: ${tests[*]}"
	[ ${#tests[@]} -le "$repeat_at_most" ] || return 0
	for test in "${tests[@]}"; do
		for configuration in "${configurations[@]}"; do
			echo "# $suite/$test, first round, $configuration:" \
				"$(sed -n "s,^$test ,,p" "$LWT_LOG/$suite-$configuration.outcome")"
		done
	done
	run_suite "$suite" -again "${tests[@]}"
	for configuration in "${configurations[@]}"; do
		file=$LWT_LOG/$suite-$configuration
		[ -f "$file-again.outcome" ] || : >"$file-again.outcome"
		mv "$file.outcome" "$file.first"
		printf '%s\n' "${tests[@]}" | awk '
			FILENAME == ARGV[1] { repeated[$1]; next }
			FILENAME == ARGV[2] { if (!($1 in repeated)) print; next }
			$1 in repeated' - "$file.first" "$file-again.outcome" >"$file.outcome"
	done
	differed=${#tests[@]}
}

# What a test printed that came out differently.
explain()
{
	local suite=$1 configuration=$2 test

	compare "$suite" "$configuration" | sed -n "s,^not ok - $suite/\([^ ]*\) with .*,\1,p" | head -n 5 |
		while read -r test; do
			say "# $suite/$test: stock (-) and $configuration (+)"
			diff -u "$(printed "$suite-stock" "$test")" "$(printed "$suite-$configuration" "$test")" 2>/dev/null |
				tail -n +3 | head -n 30 | sed 's/^/#   /' >&2 || true
		done
	grep -E 'PANIC:|TRAP:|was terminated by signal' "$LWT_LOG/$suite-$configuration.log" 2>/dev/null |
		head -n 5 | sed 's/^/# server: /' >&2 || true
}

# printed RUN TEST: the file with a test's output, of the last round that it was in.
printed()
{
	local run file

	for run in "$1-again" "$1"; do
		for file in "$LWT_WORK/out-$run/$(dirname "$2")/results/$(basename "$2").out" "$LWT_LOG/$run-$2.err"; do
			[ ! -f "$file" ] || { echo "$file"; return; }
		done
	done
	echo /dev/null
}

# Figures of a configuration: how many of each outcome.
outcomes()
{
	awk '{ count[$2]++ }
		END {
			printf "%d ok, %d not", count["ok"], count["FAILED"]
			if (count["skipped"])
				printf ", %d skipped", count["skipped"]
		}' "$LWT_LOG/$1.outcome"
}

# Tests that fail everywhere compare well: few of a whole suite may.
check_stock()
{
	awk -v suite="$1" '
		$2 == "FAILED" { failed++ }
		END {
			printf "%s - %s: %d of %d tests fail without lwtune\n",
				(NR > 0 && failed * 10 <= NR ? "ok" : "not ok"), suite, failed, NR
		}' "$LWT_LOG/$1-stock.outcome" | report
}

test_suite()
{
	local suite=$1 configuration started=$SECONDS differed=0 whole=

	shift
	[ $# -gt 0 ] || whole=yes
	run_suite "$suite" "" "$@"
	for configuration in "${configurations[@]}"; do
		[ -f "$LWT_LOG/$suite-$configuration.outcome" ] || : >"$LWT_LOG/$suite-$configuration.outcome"
	done
	repeat_differing "$suite"
	[ -z "$whole" ] || check_stock "$suite"
	for configuration in "${configurations[@]:1}"; do
		compare "$suite" "$configuration" | report
		explain "$suite" "$configuration"
	done
	for configuration in "${configurations[@]}"; do
		echo "# figure: $suite, $configuration = $(outcomes "$suite-$configuration")"
	done
	echo "# figure: $suite, tests compared = $(wc -l <"$LWT_LOG/$suite-stock.outcome") in $((SECONDS - started)) s" \
		"($differed different at first)"
}
