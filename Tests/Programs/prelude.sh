# What each shell script of the tests begins with: it ends at the first failing command and says which one that was, and there are
# assertions that cannot be passed over. `set -e` alone is silent, and does not see what fails left of `&&`, after `!`, or in a
# condition; Tests/assertions refuses scripts that assert anything there.
# Sourced from a file, so that lines count from the script's own first one. `$PRELUDE` is its path, for scripts within scripts.
set -eEuo pipefail
shopt -s inherit_errexit
# What fails is told here, wherever the script has its errors go.
exec {__errors}>&2

# Its arguments as one would type them.
__quoted() {
    local word
    for word; do if [[ $word =~ ^[]a-zA-Z0-9_./:,=!+[-]+$ ]]; then printf ' %s' "$word"; else printf ' %s' "${word@Q}"; fi; done
}
# The caller's line and those of the functions around it, then what is wrong. Ends the shell: also left of && and after !.
__wrong() {
    local frame=1 lines=${BASH_LINENO[1]}
    while [[ ${FUNCNAME[frame += 1]-main} != @(main|source) ]]; do lines="${BASH_LINENO[frame]}, $lines"; done
    printf 'line %s: %s\n' "$lines" "$1" >&$__errors
    exit 1
}
__failed() {
    local status=$1 line=$2 command=$3
    if [[ ${FUNCNAME[1]-} = '[' ]]; then shift 3; line=${BASH_LINENO[1]}; command="[$(__quoted "$@")"; fi
    printf 'line %s: status %s: %s\n' "$line" "$status" "$command" >&$__errors
}
trap '__failed $? $LINENO "$BASH_COMMAND" "$@"' ERR
# As a function it has its arguments at hand when it fails.
[() { builtin [ "$@"; }

# Sets `got`. A function runs in a process of its own, where it ends at its first failing command.
__run() {
    got=0
    if [[ $(type -t "$1") = function ]]; then
        (trap - ERR; "$@") <&0 & wait $! || got=$?
    else
        "$@" || got=$?
    fi
}
# expect_status STATUS COMMAND…: the command ends with exactly this status.
expect_status() {
    local expected=$1 got; shift
    __run "$@"
    [[ $got = "$expected" ]] || __wrong "expected status $expected, got $got:$(__quoted "$@")"
}
# expect_fails COMMAND…: the command ends with another status than 0. Prefer expect_status.
expect_fails() {
    local got
    __run "$@"
    [[ $got != 0 ]] || __wrong "expected to fail, succeeded:$(__quoted "$@")"
}
# expect_equal GOT EXPECTED: two texts are the same.
expect_equal() { [[ $1 = "$2" ]] || __wrong "expected$(__quoted "$2"), got$(__quoted "$1")"; }
# expect_ended PROCESS…: waits for each of these processes of the shell's, all of which end with 0.
expect_ended() {
    local process got
    for process; do
        got=0; wait "$process" || got=$?
        [[ $got = 0 ]] || __wrong "process $process ended with $got"
    done
}
# watching FILE ARGUMENT…: from now on inotifywait writes what it hears to the file. Sets `watcher`, its process.
watching() {
    local file=$1; shift
    : >"$file"; inotifywait -m "$@" >"$file" 2>"$file.errors" & watcher=$!
    eventually grep -q established "$file.errors"
}
# eventually COMMAND…: waits until the command succeeds, three minutes at most. One word is a script: eventually '[ -e "$T/held" ]'.
eventually() {
    local end=$((SECONDS + 180)) script=$1
    [[ $# = 1 ]] || script=$(__quoted "$@")
    until eval "$script"; do
        [[ $SECONDS -lt $end ]] || __wrong "not within three minutes: $script"$'\n'"$( (set -x; eval "$script") 2>&1 || true)"
        sleep 0.02
    done
}
# reason_kept DOCUMENT: waits until a version of the document is kept for `quire recover`, and prints why.
reason_kept() { eventually "quire recover list --json '$1' | grep -o '\"reason\" : .*'"; }
