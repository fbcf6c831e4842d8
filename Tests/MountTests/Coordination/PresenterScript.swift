/// A presenter in Python that speaks to the service by itself: a client that none of Quire's own code is in.
enum PresenterScript {
    /// To be put before a program. `Presenter(path)` attends, keeps what it is told in `events` as (kind, oldPath, path) below the
    /// mount, and answers questions by `answers`, a function of a question that returns a failure or None; none: it never does.
    static let text = service + others

    /// Its classes alone; they are in the text `SERVICE` too, for other processes.
    static let service = "SERVICE = r\'\'\'\n" + classes + "\'\'\'\nexec(SERVICE)\n"

    private static let classes = Products.text(of: "service.py")

    private static let others = Products.text(of: "presenters.py")
}
