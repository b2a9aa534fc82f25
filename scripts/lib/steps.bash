# Steps of a check: each has a heading and its time, a failed one does not stop the rest, a skipped one says why.
#
# A step is a command. It says on a line of its own that something was left out,
#     SKIPPED: WHAT: WHY
# and ends with status $SKIP if that is all it did.

readonly SKIP=77

passed=0
failed=0
skipped=0
skips=()        # "WHAT: WHY", in the order they came
failed_steps=() # headings

# Output of steps, for those that count what is in it.
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

heading() {
    printf '\n== %s\n' "$*"
}

# skip WHAT WHY: for what is left out outside of a step.
skip() {
    skips+=("$1: $2")
    skipped=$((skipped + 1))
}

# run_step HEADING COMMAND...: sets `status`; counts nothing.
run_step() {
    local title=$1 start=$SECONDS line
    shift
    heading "$title"
    # In a subshell of its own, so that errexit holds in a step that is a function.
    set +e
    (
        set -e
        "$@"
    ) 2>&1 | tee "$logs/step"
    status=${PIPESTATUS[0]}
    set -e
    while IFS= read -r line; do
        skips+=("$line")
    done < <(sed -n 's/^SKIPPED: *//p' "$logs/step")

    local verdict=ok
    case $status in
        0) ;;
        "$SKIP") verdict=skipped ;;
        *)
            verdict="FAILED (status $status)"
            failed_steps+=("$title")
            ;;
    esac
    printf -- '-- %s: %s, %d s\n' "$title" "$verdict" $((SECONDS - start))
}

# step HEADING COMMAND...: runs it and counts it as one check.
step() {
    run_step "$@"
    case $status in
        0) passed=$((passed + 1)) ;;
        "$SKIP") skipped=$((skipped + 1)) ;;
        *) failed=$((failed + 1)) ;;
    esac
}

# Prints what was left out and what failed; false if anything failed.
summary() {
    heading "summary ($SECONDS s)"
    if ((${#skips[@]})); then
        printf '%s\n' "${skips[@]}" | sort | uniq -c | while read -r times what; do
            if ((times == 1)); then
                printf 'skipped: %s\n' "$what"
            else
                printf 'skipped: %s (%d times)\n' "$what" "$times"
            fi
        done
    fi
    if ((${#failed_steps[@]})); then
        printf 'failed: %s\n' "${failed_steps[@]}"
    fi
    printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
    ((failed == 0))
}
