/// \file
/// All weights and the optimizer's state in one file, the same whatever the split.
///
/// Lines of text, then float32, little-endian, with nothing between them:
///
///     megascope-gpt checkpoint 1
///     step 50                            steps done
///     layers 4                           and the other fields of ModelShape
///     tensor embedding.bytes 256 128     name and shape of each tensor, row-major, in the order of
///     their numbers tensor exp_avg/embedding.bytes 256 128 end
#pragma once

#include "place.h"
#include "settings.h"

#include <string>
#include <vector>

namespace gpt {

class Bucket;

struct CheckpointHeader {
  ModelShape model;
  int step = 0;
};

/// Collective over the world: rank 0 reads. Refuses what is not a whole checkpoint.
CheckpointHeader read_checkpoint_header(const std::string& path);

/// Collective over the world: each rank reads its part into its buckets. Returns the steps done.
/// Refuses.
int load_checkpoint(const std::string& path, const Place& place,
                    const std::vector<Bucket*>& buckets);

/// Collective over the world: one replica writes, each of its ranks its own part. The file gets its
/// name when it is whole. Refuses.
void write_checkpoint(const std::string& path, const CheckpointHeader& header, const Place& place,
                      const std::vector<Bucket*>& buckets);

}  // namespace gpt
