#include "CBeamTOML.h"

#include <algorithm>
#include <stdexcept>

// toml++ 3.3 asserts what some wrong texts don't keep, such as “[[[”, and would end the program or, with NDEBUG, go on with
// what isn't so.
#undef NDEBUG
#define TOML_ASSERT(expression) ((expression) ? void() : throw std::logic_error("assertion"))
// In the program itself: no shared library is needed where it runs.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 1
#define TOML_UNRELEASED_FEATURES 0
#define TOML_ENABLE_FORMATTERS 0
// No setting nests as deeply. The depth is that of recursions here, in the library and in Swift; the parts of dotted keys
// are bounded before (KeyParts.swift).
#define TOML_MAX_NESTED_VALUES 16
#include <toml++/toml.h>

#include <charconv>
#include <string>
#include <string_view>

namespace {

struct Walk {
    void *context;
    void (*visit)(void *context, const beam_toml_node *node);

    void node(const toml::node &node, std::string_view key, uint32_t line, size_t depth) const {
        beam_toml_node found = {};
        found.depth = depth;
        found.line = line;
        found.key = key.data();
        found.key_length = key.size();
        std::string text;
        found.kind = read(node, text);
        found.text = text.data();
        found.text_length = text.size();
        visit(context, &found);
        if (const auto *table = node.as_table()) {
            for (const auto &[name, value] : *table) this->node(value, name.str(), name.source().begin.line, depth + 1);
        } else if (const auto *array = node.as_array()) {
            for (const auto &value : *array) this->node(value, {}, value.source().begin.line, depth + 1);
        }
    }

    static beam_toml_kind read(const toml::node &node, std::string &text) {
        if (node.is_table()) return BEAM_TOML_TABLE;
        if (node.is_array()) return BEAM_TOML_ARRAY;
        if (const auto *string = node.as_string()) {
            text = string->get();
            return BEAM_TOML_TEXT;
        }
        if (const auto *boolean = node.as_boolean()) {
            text = boolean->get() ? "true" : "false";
            return BEAM_TOML_BOOLEAN;
        }
        char digits[64];
        if (const auto *integer = node.as_integer()) {
            const bool is_hexadecimal = (integer->flags() & toml::value_flags::format_as_hexadecimal) != toml::value_flags::none
                && integer->get() >= 0;
            const auto end = std::to_chars(digits, digits + sizeof digits, integer->get(), is_hexadecimal ? 16 : 10).ptr;
            text = (is_hexadecimal ? "0x" : "") + std::string(digits, end);
            return BEAM_TOML_NUMBER;
        }
        if (const auto *number = node.as_floating_point()) {
            text.assign(digits, std::to_chars(digits, digits + sizeof digits, number->get()).ptr);
            return BEAM_TOML_NUMBER;
        }
        return BEAM_TOML_TIME;
    }
};

/// Whether an assertion fails in the first `count` lines.
bool fails_in(std::string_view text, size_t count) {
    size_t end = 0;
    while (count-- > 0 && end < text.size()) end = std::min(text.find('\n', end), text.size() - 1) + 1;
    try {
        static_cast<void>(toml::parse(text.substr(0, end)));
        return false;
    } catch (const std::logic_error &) {
        return true;
    } catch (const toml::parse_error &) {
        return false;
    }
}

/// The line at which an assertion fails: the first lines without it don't fail, with it they do.
uint32_t failing_line(std::string_view text) {
    size_t good = 0, bad = std::count(text.begin(), text.end(), '\n') + 1;
    while (bad - good > 1) {
        const size_t middle = (good + bad) / 2;
        (fails_in(text, middle) ? bad : good) = middle;
    }
    return uint32_t(bad);
}

}

bool beam_toml_read(
    const char *text, size_t length, void *context, void (*visit)(void *context, const beam_toml_node *node),
    void (*failed)(void *context, const char *reason, uint32_t line)) {
    const std::string_view view(text, length);
    // Swift can't catch exceptions.
    try {
        const toml::table table = toml::parse(view);
        const Walk walk = {context, visit};
        for (const auto &[name, value] : table) walk.node(value, name.str(), name.source().begin.line, 0);
        return true;
    } catch (const toml::parse_error &error) {
        failed(context, std::string(error.description()).c_str(), error.source().begin.line);
    } catch (const std::logic_error &) {
        failed(context, "What stands here is neither a table nor a setting", failing_line(view));
    } catch (const std::exception &error) {
        failed(context, error.what(), 1);
    }
    return false;
}
