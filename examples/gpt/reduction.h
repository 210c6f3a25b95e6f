/// \file
/// Sums of gradients over the replicas, while backward goes on.
#pragma once

#include "parameters.h"

#include <vector>

namespace gpt {

/// Requests are started in the order of start(), per communicator: all replicas call it in the same
/// order for each.
class Reduction {
 public:
  /// The bucket's gradients of this replica are final: their sum over `dp` starts, in place.
  void start(Bucket& bucket, MPI_Comm dp);
  /// Lets the MPI library work on what was started; many only do when they are called.
  void progress();
  /// Waits for all sums.
  void finish();

 private:
  std::vector<MPI_Request> requests_;
  std::vector<Bucket*> buckets_;
};

}  // namespace gpt
