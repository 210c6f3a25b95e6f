#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Small text functions, all pure; any thread. They do not throw except for lack of memory.
namespace megascope {

/// `text` without blanks and tabs at either end. The view lives as long as `text`.
std::string_view trimmed(std::string_view text) noexcept;

/// The elements of a list, trimmed, empty ones left out: "otf2, perfetto" gives {"otf2",
/// "perfetto"}. Separators are `,` `+` `:` alike, because `srun --export` splits at commas.
std::vector<std::string> split_list(std::string_view text);

/// `text` in lower case, ASCII letters only.
std::string lower_case(std::string_view text);

/// Bytes from "4096", "64K", "64KiB", "1.5G", "2 TiB": binary multiples, letter case ignored, a
/// trailing B allowed. nullopt: not such a text, negative, or more than 2^63 - 1 bytes.
std::optional<std::uint64_t> parse_size_bytes(std::string_view text);

/// A whole decimal number without sign; nullopt for anything else or when it does not fit.
std::optional<std::uint64_t> parse_count(std::string_view text) noexcept;

/// true from 1 on true yes, false from 0 off false no, letter case ignored; nullopt otherwise.
std::optional<bool> parse_bool(std::string_view text);

/// "0 B", "1023 B", "1.2 MiB", "15 GiB": at most three significant digits below 1000.
std::string human_bytes(std::uint64_t size_bytes);

/// "0 s", "850 ns", "3.4 ms", "12.5 s", "2 min 5 s", "3 h 20 min"; a leading minus is kept.
std::string human_duration(std::int64_t duration_ns);

/// "999", "12.3 k", "4.56 M": a count for people, three significant digits from 1000 on.
std::string human_count(std::uint64_t count);

/// Levenshtein distance between `a` and `b`: insertions, deletions and substitutions cost 1 each.
/// O(|a|·|b|) time, O(|b|) memory: for names, not for documents.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate closest to `name`, or empty when none is near enough to be a typing error of it
/// (more than a third of its length, at least 2). The first of equally near ones wins.
std::string_view nearest_name(std::string_view name,
                              const std::vector<std::string_view>& candidates);

/// `text` in single quotes, safe as one word of a POSIX shell: it's becomes 'it'\''s'.
std::string shell_quoted(std::string_view text);

/// The parts with `separator` between them.
std::string joined(const std::vector<std::string>& parts, std::string_view separator);

}  // namespace megascope
