import TestSupport
import Testing

/// Scripts with claims of `one`, `two` and `new`, on a suite's shared mount.
enum WithinClaim {
    /// `inside` runs the script in its input within a claim of `one`, `two` and `new`; `outside` runs one, while that waits, as
    /// somebody who has no part in the claim, in a shell from before it.
    static let functions = """
        rm -f "$T"/asked "$T"/answered "$T"/saved; mkfifo "$T/asked" "$T/answered"
        (while read -r _ <"$T/asked"; do status=0; bash -c '. "$PRELUDE"; . "$0"' "$T/outside" || status=$?; echo $status >"$T/answered"; done) &
        keeper=$!
        outside() { cat >"$T/outside"; echo go >"$T/asked"; read -r status <"$T/answered"; return $status; }
        export -f outside; export T
        inside() {
            cat >"$T/inside"; quire coordinate --write one --write two --write new -- bash -c '. "$PRELUDE"; . "$0"' "$T/inside"
        }
        trap 'kill $keeper $(jobs -p) 2>/dev/null || true' EXIT

        """

    static let prepare = """
        echo old one >one; echo old two >two; setfattr -n user.xdg.tags -v tag one; setfattr -n user.xdg.tags -v tag two
        """

    static func run(_ kind: SaveMount, _ script: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        try withSharedMount(kind, prepare: prepare) { (mount: Mount) throws in
            try mount.shell(functions + script, sourceLocation: sourceLocation)
            try expectNothingHidden(mount)
        }
    }
}
