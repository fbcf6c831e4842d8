#pragma once

/// A text of `quire help TOPIC`, in Markdown.
struct help_topic {
    const char *_Nullable name;
    const char *_Nullable text;
};

/// The topics, in the order in which the list shows them; the last one has no name.
const struct help_topic *_Nonnull help_topics(void);
