#include "reduction.h"

namespace gpt {

void Reduction::start(Bucket& bucket, MPI_Comm dp) {
  bucket.show(MEGASCOPE_GRAD_UNREDUCED, bucket.gradients);
  int replicas = 1;
  MPI_Comm_size(dp, &replicas);
  if (replicas > 1)
    MPI_Iallreduce(MPI_IN_PLACE, bucket.gradients.data(), static_cast<int>(bucket.gradients.size()),
                   MPI_FLOAT, MPI_SUM, dp, &requests_.emplace_back(MPI_REQUEST_NULL));
  buckets_.push_back(&bucket);
}

void Reduction::progress() {
  if (requests_.empty()) return;
  int is_done = 0;
  MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &is_done, MPI_STATUSES_IGNORE);
}

void Reduction::finish() {
  const observe::Region region(observe::kGradientSum);
  MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  for (const Bucket* bucket : buckets_) bucket->show(MEGASCOPE_GRAD_REDUCED, bucket->gradients);
  requests_.clear();
  buckets_.clear();
}

}  // namespace gpt
