#include "HelpTopics.h"

#include <stddef.h>

// The topics' texts are in the program: it is one file wherever it is installed.
static const char installing[] = {
#embed "installing.md" suffix(, 0)
};
static const char mounting[] = {
#embed "mounting.md" suffix(, 0)
};
static const char commands[] = {
#embed "commands.md" suffix(, 0)
};
static const char saves[] = {
#embed "saves.md" suffix(, 0)
};
static const char recover[] = {
#embed "recover.md" suffix(, 0)
};
static const char file_servers[] = {
#embed "file-servers.md" suffix(, 0)
};
static const char tags[] = {
#embed "tags.md" suffix(, 0)
};
static const char recents[] = {
#embed "recents.md" suffix(, 0)
};
static const char favorites[] = {
#embed "favorites.md" suffix(, 0)
};
static const char bookmarks[] = {
#embed "bookmarks.md" suffix(, 0)
};
static const char sandboxes[] = {
#embed "sandboxes.md" suffix(, 0)
};
static const char search[] = {
#embed "search.md" suffix(, 0)
};
static const char types[] = {
#embed "types.md" suffix(, 0)
};
static const char from_other_programs[] = {
#embed "from-other-programs.md" suffix(, 0)
};
static const char thumbnails[] = {
#embed "thumbnails.md" suffix(, 0)
};
static const char previews[] = {
#embed "previews.md" suffix(, 0)
};
static const char claims[] = {
#embed "claims.md" suffix(, 0)
};
static const char presenters_and_events[] = {
#embed "presenters-and-events.md" suffix(, 0)
};
static const char packages[] = {
#embed "packages.md" suffix(, 0)
};
static const char swift[] = {
#embed "swift.md" suffix(, 0)
};
static const char users[] = {
#embed "users.md" suffix(, 0)
};
static const char backups[] = {
#embed "backups.md" suffix(, 0)
};
static const char limits[] = {
#embed "limits.md" suffix(, 0)
};
static const char files[] = {
#embed "files.md" suffix(, 0)
};
static const char troubleshooting[] = {
#embed "troubleshooting.md" suffix(, 0)
};

static const struct help_topic topics[] = {
    {"installing", installing},
    {"mounting", mounting},
    {"commands", commands},
    {"saves", saves},
    {"recover", recover},
    {"file-servers", file_servers},
    {"tags", tags},
    {"recents", recents},
    {"favorites", favorites},
    {"bookmarks", bookmarks},
    {"sandboxes", sandboxes},
    {"search", search},
    {"types", types},
    {"packages", packages},
    {"from-other-programs", from_other_programs},
    {"thumbnails", thumbnails},
    {"previews", previews},
    {"claims", claims},
    {"presenters-and-events", presenters_and_events},
    {"swift", swift},
    {"users", users},
    {"backups", backups},
    {"limits", limits},
    {"files", files},
    {"troubleshooting", troubleshooting},
    {NULL, NULL},
};

const struct help_topic *help_topics(void) { return topics; }
