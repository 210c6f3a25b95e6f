#include "plugin/cli/launch/ranks_asked.h"

#include "core/base/text.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace megascope::cli {
namespace {

constexpr std::uint64_t kMaxRanks = std::uint64_t{1} << 24;
constexpr std::array<std::string_view, 5> kCountOptions = {"-n", "-np", "--n", "--np", "-c"};
constexpr std::array<std::string_view, 2> kSrunCountOptions = {"-n", "--ntasks"};
constexpr std::array<std::string_view, 15> kHostOptions = {"-H",
                                                           "-host",
                                                           "--host",
                                                           "-hosts",
                                                           "-hostfile",
                                                           "--hostfile",
                                                           "-machinefile",
                                                           "--machinefile",
                                                           "--default-hostfile",
                                                           "-f",
                                                           "-w",
                                                           "--nodelist",
                                                           "--nodefile",
                                                           "-rf",
                                                           "--rankfile"};

std::int64_t count_of(std::string_view word) {
  const std::optional<std::uint64_t> count = parse_count(word);
  return count && *count <= kMaxRanks ? static_cast<std::int64_t>(*count) : 0;
}

/// The count given by the word at `i`, or by the next one; 0: none.
std::int64_t count_at(std::span<const std::string> words, std::size_t i, LauncherKind kind) {
  const std::string_view word = words[i];
  const auto options = kind == LauncherKind::kSrun
                           ? std::span<const std::string_view>(kSrunCountOptions)
                           : kCountOptions;
  const bool is_short_c = word == "-c" && kind != LauncherKind::kOpenMpi;
  if (!is_short_c && std::ranges::find(options, word) != options.end())
    return i + 1 < words.size() ? count_of(words[i + 1]) : 0;
  if (kind != LauncherKind::kSrun) return 0;
  if (word.starts_with("--ntasks=")) return count_of(word.substr(9));
  return word.starts_with("-n") && word.size() > 2 ? count_of(word.substr(2)) : 0;
}

}  // namespace

RanksAsked ranks_asked(const std::vector<std::string>& command, LauncherKind kind,
                       const std::function<bool(const std::string&)>& is_program) {
  RanksAsked asked;
  bool are_all_reported = true;
  for (std::size_t begin = 1; begin < command.size();) {
    const std::size_t end = static_cast<std::size_t>(
        std::find(command.begin() + static_cast<std::ptrdiff_t>(begin), command.end(), ":") -
        command.begin());
    const std::span<const std::string> words(command.data() + begin, end - begin);
    std::int64_t count = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (!words[i].starts_with('-') && is_program(words[i])) break;
      count = std::max(count, count_at(words, i, kind));
      const std::string_view name = std::string_view(words[i]).substr(0, words[i].find('='));
      asked.names_hosts = asked.names_hosts ||
                          std::ranges::find(kHostOptions, name) != kHostOptions.end();
    }
    are_all_reported = are_all_reported && count != 0;
    asked.count += count;
    begin = end + 1;
  }
  if (!are_all_reported) asked.count = 0;
  return asked;
}

}  // namespace megascope::cli
