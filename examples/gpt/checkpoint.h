/// \file
/// Checkpoint files: all weights and the optimizer state in one file, independent of the parallel
/// layout.
///
/// Format: text lines, followed by float32 data, little-endian, without padding:
///
///     megascope-gpt checkpoint 1
///     step 50                                       (number of completed steps)
///     layers 4                                      (likewise each other field of ModelShape)
///     tensor embedding.bytes 256 128                (name and shape, for each weight)
///     tensor exp_avg/embedding.bytes 256 128        (for each weight)
///     tensor exp_avg_sq/embedding.bytes 256 128     (for each weight)
///     end
///
/// The texts in brackets are not in the file. The data of the tensors have the order of their
/// lines. Each tensor is row-major.
#pragma once

#include "coordinates.h"
#include "settings.h"

#include <string>
#include <vector>

namespace gpt {

class Bucket;

struct CheckpointHeader {
  ModelShape model;
  int step = 0;
};

/// Reads the header. Collective over the world; rank 0 reads. Throws Refusal if the file is not a
/// complete checkpoint.
CheckpointHeader read_checkpoint_header(const std::string& path);

/// Loads this rank's part into its buckets. Collective over the world. Returns the number of
/// completed steps. Throws Refusal on error.
int load_checkpoint(const std::string& path, const GridCoordinates& coordinates,
                    const std::vector<Bucket*>& buckets);

/// Writes a checkpoint. Collective over the world: the ranks of one replica write their own parts.
/// The file gets its name when it is complete. Throws Refusal on error.
void write_checkpoint(const std::string& path, const CheckpointHeader& header,
                      const GridCoordinates& coordinates, const std::vector<Bucket*>& buckets);

}  // namespace gpt
