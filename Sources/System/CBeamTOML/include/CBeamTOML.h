// A file of settings, read by toml++: its nodes in the order of a walk, each with its line.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum beam_toml_kind {
    BEAM_TOML_TABLE,
    BEAM_TOML_ARRAY,
    BEAM_TOML_TEXT,
    BEAM_TOML_NUMBER,
    BEAM_TOML_BOOLEAN,
    BEAM_TOML_TIME,
};

/// Valid during the call that gets it.
struct beam_toml_node {
    /// 0 for the keys of the file, 1 for what is in these, and so on.
    size_t depth;
    enum beam_toml_kind kind;
    /// Counted from 1.
    uint32_t line;
    /// UTF-8 without a zero at the end; empty for the elements of an array.
    const char *key;
    size_t key_length;
    /// The value as an option would take it; empty for tables and arrays. A number that is written in hexadecimal stays so.
    const char *text;
    size_t text_length;
};

/// Calls `visit` for each node, a table's or an array's own nodes right after it. Returns whether `text` is TOML 1.0;
/// if not, `visit` isn't called, and `failed` is, once, with a sentence and a line.
bool beam_toml_read(
    const char *text, size_t length, void *context, void (*visit)(void *context, const struct beam_toml_node *node),
    void (*failed)(void *context, const char *reason, uint32_t line));

#ifdef __cplusplus
}
#endif
