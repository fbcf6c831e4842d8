/// The beginning of scripts with several users on one mount: each runs Python of its own, beside the others.
enum UserScript {
    static let text = PresenterScript.service + Products.text(of: "users.py")
}
