#include "analysis/import/pytorch_timeline.h"

#include "analysis/import/gzip_stream.h"
#include "analysis/import/kineto_file.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <memory>

namespace megascope::importer {
namespace {

namespace fs = std::filesystem;

constexpr std::int32_t kMaxRanks = 1 << 24;
constexpr std::int64_t kLongestRunNs = 1'000'000'000'000'000'000;  // 31 years

Status files_of(const std::vector<std::string>& sources, std::vector<fs::path>& files) {
  for (const std::string& source : sources) {
    std::error_code error;
    if (!fs::is_directory(source, error)) {
      files.emplace_back(source);
      continue;
    }
    std::vector<fs::path> found;
    for (const fs::directory_entry& entry : fs::directory_iterator(source, error)) {
      const std::string name = entry.path().filename().string();
      if (name.ends_with(".json") || name.ends_with(".json.gz")) found.push_back(entry.path());
    }
    if (error) return Status::error("cannot read " + source + ": " + error.message());
    if (found.empty()) return Status::error(source + " contains no *.json and no *.json.gz");
    std::ranges::sort(found);
    files.insert(files.end(), found.begin(), found.end());
  }
  return Status::ok();
}

class PytorchReader {
 public:
  explicit PytorchReader(Timeline& timeline) : timeline_(timeline) {}

  Status read(const std::vector<fs::path>& paths) {
    Status worst;
    for (const fs::path& path : paths) {
      Status status = read_file(path, paths.size() == 1);
      if (!status.is_ok()) timeline_.notes.push_back(status.message() + "; this file was omitted");
      worst.update(std::move(status));
    }
    if (files_.empty()) return worst;
    coordinates_ranks();
    const Status status = count_from_the_first();
    if (status.is_ok())
      keep_calls(timeline_, std::move(calls_), groups_, world_size_, definitions_of_);
    return status;
  }

 private:
  struct File {
    std::unique_ptr<KinetoFile> reader;
    std::int32_t rank = 0;
    std::size_t end_operation = 0;
  };

  Status read_file(const fs::path& path, bool is_only_one) {
    const std::size_t operations = timeline_.operations.size();
    const std::size_t estimates = timeline_.estimates.size();
    const Repairs repairs = timeline_.repairs;
    auto file = std::make_unique<KinetoFile>(timeline_, path.filename().string());
    std::int32_t rank = kUnknown;
    Status status = read_events(path, *file);
    if (status.is_ok()) status = find_rank(path, file->header(), is_only_one, rank);
    if (status.is_ok()) {
      files_.push_back({std::move(file), rank, timeline_.operations.size()});
      return status;
    }
    timeline_.operations.resize(operations);
    timeline_.estimates.resize(estimates);
    timeline_.repairs = repairs;
    return Status::error(path.string() + ": " + status.message());
  }

  static Status read_events(const fs::path& path, KinetoFile& file) {
    std::error_code error;
    GzipBuffer buffer(path.string());
    if (!buffer.is_open() || fs::is_directory(path, error)) return Status::error("cannot open");
    std::istream from(&buffer);
    const Status status = file.read(from);
    return buffer.has_failed() ? Status::error("the compressed data is damaged") : status;
  }

  static Status find_rank(const fs::path& path, const JsonHeader& header, bool is_only_one,
                          std::int32_t& rank) {
    rank = rank_in_name(path.filename().string());
    if (header.rank) {
      if (!(*header.rank >= 0 && *header.rank < kMaxRanks &&
            *header.rank == std::floor(*header.rank)))
        return Status::error("\"distributedInfo.rank\" is not a rank");
      rank = static_cast<std::int32_t>(*header.rank);
    }
    if (rank == kUnknown && is_only_one) rank = 0;
    if (rank != kUnknown) return Status::ok();
    return Status::error(
        "the file specifies no rank; add \"distributedInfo\": {\"rank\": N} to it, or name it "
        "rank-N.json");
  }

  /// Files that count from the begin of their profile have clocks that were never compared.
  Status count_from_the_first() {
    timeline_.has_common_clock = std::ranges::all_of(
        files_, [](const File& file) { return file.reader->has_clock(); });
    std::int64_t first_ns = INT64_MAX;
    std::int64_t last_ns = INT64_MIN;
    for (const File& file : files_) {
      const std::int64_t base_ns = timeline_.has_common_clock
                                       ? file.reader->header().base_ns.value_or(0)
                                       : -file.reader->first_ns();
      first_ns = std::min(first_ns, base_ns + file.reader->first_ns());
      last_ns = std::max(last_ns, base_ns + file.reader->last_ns());
    }
    if (last_ns - first_ns > kLongestRunNs)
      return Status::error("the times in the files differ by more than 31 years");
    for (const File& file : files_) {
      const std::int64_t base_ns = timeline_.has_common_clock
                                       ? file.reader->header().base_ns.value_or(0)
                                       : -file.reader->first_ns();
      const auto shift_ns = static_cast<std::uint64_t>(base_ns - first_ns);
      for (std::size_t i = file.reader->first_operation(); i < file.end_operation; ++i) {
        timeline_.operations[i].begin_ns += shift_ns;
        timeline_.operations[i].end_ns += shift_ns;
      }
    }
    timeline_.notes.emplace_back(
        timeline_.has_common_clock
            ? "clocks of the nodes are assumed to be synchronised: times of different ranks are "
              "only as accurate as these clocks"
            : "clocks of the ranks were never compared: times count from the beginning of each "
              "file, and all files are assumed to begin at the same time");
    return Status::ok();
  }

  void coordinates_ranks() {
    std::map<std::int32_t, KinetoFile::Tracks> tracks;
    std::size_t ignored_count = 0;
    for (const File& file : files_) {
      const auto [at, is_new] = definitions_of_.try_emplace(
          file.rank, static_cast<std::int32_t>(timeline_.definitions.size()));
      if (is_new) timeline_.definitions.emplace_back();
      file.reader->coordinates(file.rank, at->second, tracks[file.rank], file.end_operation);
      std::ranges::move(file.reader->calls(), std::back_inserter(calls_));
      const double specified_size = file.reader->header().world_size.value_or(1);
      if (specified_size >= 1 && specified_size <= kMaxRanks)
        world_size_ = std::max(world_size_, static_cast<std::int32_t>(specified_size));
      world_size_ = std::max(world_size_, file.rank + 1);
      add_groups(file.reader->header());
      ignored_count += file.reader->ignored_count();
    }
    if (ignored_count != 0)
      timeline_.notes.push_back(std::to_string(ignored_count) +
                                " events are not operations (flows, marks, counters, copies of "
                                "annotations) and were omitted");
    timeline_.has_grid = false;
    timeline_.sizes.dp = world_size_;
  }

  void add_groups(const JsonHeader& header) {
    for (const JsonHeader::Group& group : header.groups) {
      std::vector<std::int32_t> ranks;
      for (const double rank : group.ranks) {
        if (rank >= 0 && rank < kMaxRanks && rank == std::floor(rank))
          ranks.push_back(static_cast<std::int32_t>(rank));
      }
      if (ranks.size() == group.ranks.size() && !ranks.empty())
        groups_.try_emplace(group.name, std::move(ranks));
    }
  }

  Timeline& timeline_;
  std::vector<File> files_;
  KinetoGroups groups_;
  std::map<std::int32_t, std::int32_t> definitions_of_;  ///< by rank
  std::vector<KinetoCall> calls_;
  std::int32_t world_size_ = 1;
};

}  // namespace

std::int32_t rank_in_name(const std::string& file) {
  std::string text = file;
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (std::size_t at = text.find("rank"); at != std::string::npos;
       at = text.find("rank", at + 1)) {
    const std::size_t digits = text.find_first_not_of("-_=. ", at + 4);
    if (digits == std::string::npos) continue;
    std::int32_t rank = 0;
    const auto [end, error] = std::from_chars(text.data() + digits, text.data() + text.size(),
                                              rank);
    if (error == std::errc{} && rank >= 0 && rank < kMaxRanks && end != text.data() + digits)
      return rank;
  }
  return kUnknown;
}

Status read_pytorch(const std::vector<std::string>& sources, Timeline& timeline) {
  std::vector<fs::path> files;
  const Status status = files_of(sources, files);
  return status.is_ok() ? PytorchReader(timeline).read(files) : status;
}

}  // namespace megascope::importer
