#include "checkpoint.h"

#include "chunk.h"
#include "refusal.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

namespace gpt {

namespace {

constexpr const char* kMagic = "megascope-gpt checkpoint 1";
constexpr std::size_t kMaxHeaderBytes = std::size_t{1} << 24;
constexpr std::array<const char*, 3> kGroups = {"", "exp_avg/", "exp_avg_sq/"};

/// File layout of a model.
struct Layout {
  std::string header;
  std::map<std::string, std::size_t> position;  // offset of each tensor's first byte
  std::size_t bytes = 0;
};

Layout layout_of(const CheckpointHeader& header) {
  Settings settings;
  settings.model = header.model;
  const Chunk whole(0, 1, settings, Axis{});  // the model on one rank; used only for its shapes
  Layout layout;
  std::ostringstream text;
  text << kMagic << "\nstep " << header.step << "\n";
  for (const ShapeField& field : kShapeFields)
    text << field.name << " " << header.model.*field.value << "\n";
  for (const char* group : kGroups) {
    for (const auto& bucket : whole.buckets) {
      for (const Parameter& parameter : bucket->parameters) {
        text << "tensor " << group << parameter.name;
        for (const int size : parameter.shape) text << " " << size;
        text << "\n";
        layout.position[group + parameter.name] = layout.bytes;
        layout.bytes += parameter.count() * sizeof(float);
      }
    }
  }
  text << "end\n";
  layout.header = text.str();
  for (auto& [name, position] : layout.position) position += layout.header.size();
  layout.bytes += layout.header.size();
  return layout;
}

/// Reads the text up to "end". Returns the error, or an empty text.
std::string read_header(const std::string& path, std::string& header, std::size_t& file_bytes) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return path + ": " + std::strerror(errno);
  std::string line;
  while (header.size() < kMaxHeaderBytes && std::getline(file, line)) {
    header += line + "\n";
    if (header.size() == line.size() + 1 && line != kMagic) break;
    if (line == "end") {
      file.seekg(0, std::ios::end);
      file_bytes = static_cast<std::size_t>(file.tellg());
      return {};
    }
  }
  return path + ": not a checkpoint of this program";
}

/// The number after `name` on a line of its own, or -1.
int number_of(std::string_view header, const std::string& name) {
  const std::size_t begin = header.find("\n" + name + " ");
  int value = -1;
  if (begin != std::string_view::npos) {
    const char* first = header.data() + begin + name.size() + 2;
    if (std::from_chars(first, header.data() + header.size(), value).ec != std::errc{}) value = -1;
  }
  return value;
}

bool is_possible(const CheckpointHeader& header) {
  const ModelShape& model = header.model;
  for (const ShapeField& field : kShapeFields) {
    const int value = model.*field.value;
    if (field.value != &ModelShape::rms_norm && (value < 1 || value > 1 << 20)) return false;
  }
  return header.step >= 0 && model.layers <= 1 << 12 &&
         (model.rms_norm == 0 || model.rms_norm == 1) && model.hidden % model.heads == 0 &&
         model.heads % model.kv_heads == 0;
}

/// Calls run(file offset, values, count) for each contiguous part of this rank's numbers in the
/// file: a row of a matrix with split columns, else a whole tensor.
template <class Run>
void for_each_run(const Layout& layout, int tp_rank, const std::vector<Bucket*>& buckets, Run run) {
  for (Bucket* bucket : buckets) {
    const std::array<Floats*, 3> arrays = {&bucket->masters(), &bucket->exp_avg,
                                           &bucket->exp_avg_sq};
    for (std::size_t i = 0; i < kGroups.size() * bucket->parameters.size(); ++i) {
      const std::size_t group = i % kGroups.size();
      const Parameter& parameter = bucket->parameters[i / kGroups.size()];
      const bool has_rows = parameter.split_dimension == 1;
      const std::size_t count = has_rows ? static_cast<std::size_t>(parameter.columns)
                                         : parameter.count();
      const std::size_t step = has_rows ? static_cast<std::size_t>(parameter.shape[1]) : count;
      const std::size_t first = parameter.split_dimension == observe::kNotSplit
                                    ? 0
                                    : static_cast<std::size_t>(tp_rank) * count;
      const std::size_t position = layout.position.at(kGroups[group] + parameter.name);
      for (std::size_t row = 0; row < parameter.count() / count; ++row)
        run(position + (first + row * step) * sizeof(float),
            arrays[group]->data() + parameter.offset + row * count, count);
    }
  }
}

std::string begin_file(const std::string& path, const Layout& layout) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (!file) return path + ": " + std::strerror(errno);
  file << layout.header;
  file.close();
  std::error_code error;
  if (file) std::filesystem::resize_file(path, layout.bytes, error);
  return file && !error ? "" : path + ": cannot be written";
}

// All tp ranks have equal values of replicated tensors and write the same bytes.
std::string write_parts(const std::string& path, const Layout& layout,
                        const GridCoordinates& coordinates, const std::vector<Bucket*>& buckets) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  for_each_run(layout, coordinates.tp.rank, buckets,
               [&](std::size_t position, const float* values, std::size_t count) {
                 file.seekp(static_cast<std::streamoff>(position));
                 file.write(reinterpret_cast<const char*>(values),
                            static_cast<std::streamsize>(count * sizeof(float)));
               });
  file.close();
  return file ? "" : path + ": cannot be written";
}

}  // namespace

CheckpointHeader read_checkpoint_header(const std::string& path) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::string text;
  std::size_t bytes = 0;
  refuse_together(rank == 0 ? read_header(path, text, bytes) : std::string());
  broadcast(text);
  CheckpointHeader header;
  header.step = number_of(text, "step");
  for (const ShapeField& field : kShapeFields)
    header.model.*field.value = number_of(text, field.name);
  if (!is_possible(header))
    throw Refusal(path + ": the checkpoint does not describe a valid model");
  const Layout layout = layout_of(header);
  if (text != layout.header)
    throw Refusal(path + ": the checkpoint's tensors do not match its model");
  refuse_together(rank == 0 && bytes != layout.bytes
                      ? path + ": the checkpoint has " + std::to_string(bytes) + " bytes, not " +
                            std::to_string(layout.bytes)
                      : std::string());
  return header;
}

int load_checkpoint(const std::string& path, const GridCoordinates& coordinates,
                    const std::vector<Bucket*>& buckets) {
  const CheckpointHeader header = read_checkpoint_header(path);
  const Layout layout = layout_of(header);
  std::ifstream file(path, std::ios::binary);
  for_each_run(layout, coordinates.tp.rank, buckets,
               [&](std::size_t position, float* values, std::size_t count) {
                 file.seekg(static_cast<std::streamoff>(position));
                 file.read(reinterpret_cast<char*>(values),
                           static_cast<std::streamsize>(count * sizeof(float)));
               });
  refuse_together(file ? std::string() : path + ": cannot be read");
  for (Bucket* bucket : buckets) bucket->masters_changed();
  return header.step;
}

void write_checkpoint(const std::string& path, const CheckpointHeader& header,
                      const GridCoordinates& coordinates, const std::vector<Bucket*>& buckets) {
  const observe::Region region(observe::kCheckpoint);
  const Layout layout = layout_of(header);
  const std::string partial = path + ".partial";
  refuse_together(coordinates.is_world_first ? begin_file(partial, layout) : std::string());
  refuse_together(coordinates.dp.is_first() ? write_parts(partial, layout, coordinates, buckets)
                                            : std::string());
  std::error_code error;
  if (coordinates.is_world_first) std::filesystem::rename(partial, path, error);
  refuse_together(error ? path + ": " + error.message() : std::string());
}

}  // namespace gpt
