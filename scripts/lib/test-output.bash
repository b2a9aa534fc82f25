# Reads what `cargo test -- --show-output` prints.

# Leaves out what passed tests printed, but for what they skipped. In the shell, because a filter that buffers would hide
# which test is running.
hide_output_of_passed() {
    local line hidden=
    while IFS= read -r line || [[ -n $line ]]; do
        case $line in
            successes:) hidden=yes ;;
            failures: | 'test result:'*) hidden= ;;
        esac
        if [[ -z $hidden || $line == SKIPPED:* ]]; then
            printf '%s\n' "$line"
        fi
    done
}

# Says of ignored tests that they are skipped, as other tests do themselves.
name_ignored() {
    sed -nE -e 's/^test (.*) \.\.\. ignored, (.*)$/SKIPPED: \1: \2/p' \
        -e 's/^test (.*) \.\.\. ignored$/SKIPPED: \1: ignored/p' "$1"
}

# count_tests LOG: prints PASSED FAILED SKIPPED. libtest knows of no skipped test: one that skipped anything, be it only a
# part, is taken from those that passed. A program without libtest's sections has a check for each line that it skipped.
count_tests() {
    awk '
        /^running [0-9]+ tests?$/ { program++ }
        /^successes:$/ { section = "successes" }
        /^failures:$/ { section = "failures" }
        /^---- .* stdout ----$/ { name = $0 }
        /^SKIPPED: / && section == "successes" { partly[program, name] = 1 }
        /^SKIPPED: / && section == "" { alone++ }
        /^test result: / {
            section = ""
            passed += $4
            failed += $6
            ignored += $8
        }
        END {
            for (test in partly) skipped++
            print passed - skipped, failed + 0, ignored + skipped + alone
        }
    ' "$1"
}
