/// \file
/// Sums gradients over the replicas, overlapping with backward.
#pragma once

#include "parameters.h"

#include <vector>

namespace gpt {

/// Requests on a communicator are started in the order of start(), which must be the same on all
/// replicas.
class Reduction {
 public:
  /// Starts the in-place sum over `dp` of the bucket's gradients, which must be final.
  void start(Bucket& bucket, MPI_Comm dp);
  /// Lets the MPI library make progress; many libraries only do so inside calls.
  void progress();
  /// Waits for all sums.
  void finish();

 private:
  std::vector<MPI_Request> requests_;
  std::vector<Bucket*> buckets_;
};

}  // namespace gpt
