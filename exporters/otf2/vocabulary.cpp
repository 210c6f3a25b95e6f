#include "exporters/otf2/vocabulary.h"

#include "core/record/ids.h"

namespace megascope::otf2 {

OTF2_CollectiveOp otf2_operation(CollectiveOp operation) {
  switch (operation) {
    case CollectiveOp::kNone:
    case CollectiveOp::kBarrier:
      return OTF2_COLLECTIVE_OP_BARRIER;
    case CollectiveOp::kBcast:
      return OTF2_COLLECTIVE_OP_BCAST;
    case CollectiveOp::kGather:
      return OTF2_COLLECTIVE_OP_GATHER;
    case CollectiveOp::kGatherv:
      return OTF2_COLLECTIVE_OP_GATHERV;
    case CollectiveOp::kScatter:
      return OTF2_COLLECTIVE_OP_SCATTER;
    case CollectiveOp::kScatterv:
      return OTF2_COLLECTIVE_OP_SCATTERV;
    case CollectiveOp::kAllgather:
      return OTF2_COLLECTIVE_OP_ALLGATHER;
    case CollectiveOp::kAllgatherv:
      return OTF2_COLLECTIVE_OP_ALLGATHERV;
    case CollectiveOp::kAlltoall:
      return OTF2_COLLECTIVE_OP_ALLTOALL;
    case CollectiveOp::kAlltoallv:
      return OTF2_COLLECTIVE_OP_ALLTOALLV;
    case CollectiveOp::kAlltoallw:
      return OTF2_COLLECTIVE_OP_ALLTOALLW;
    case CollectiveOp::kAllreduce:
      return OTF2_COLLECTIVE_OP_ALLREDUCE;
    case CollectiveOp::kReduce:
      return OTF2_COLLECTIVE_OP_REDUCE;
    case CollectiveOp::kReduceScatter:
      return OTF2_COLLECTIVE_OP_REDUCE_SCATTER;
    case CollectiveOp::kReduceScatterBlock:
      return OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK;
    case CollectiveOp::kScan:
      return OTF2_COLLECTIVE_OP_SCAN;
    case CollectiveOp::kExscan:
      return OTF2_COLLECTIVE_OP_EXSCAN;
    case CollectiveOp::kCreateHandle:
      return OTF2_COLLECTIVE_OP_CREATE_HANDLE;
    case CollectiveOp::kDestroyHandle:
      return OTF2_COLLECTIVE_OP_DESTROY_HANDLE;
  }
  return OTF2_COLLECTIVE_OP_BARRIER;
}

OTF2_RegionRole otf2_role(RegionRole role) {
  switch (role) {
    case RegionRole::kUnknown:
      return OTF2_REGION_ROLE_UNKNOWN;
    case RegionRole::kFunction:
      return OTF2_REGION_ROLE_FUNCTION;
    case RegionRole::kPointToPoint:
      return OTF2_REGION_ROLE_POINT2POINT;
    case RegionRole::kCollBarrier:
      return OTF2_REGION_ROLE_BARRIER;
    case RegionRole::kCollOneToAll:
      return OTF2_REGION_ROLE_COLL_ONE2ALL;
    case RegionRole::kCollAllToOne:
      return OTF2_REGION_ROLE_COLL_ALL2ONE;
    case RegionRole::kCollAllToAll:
      return OTF2_REGION_ROLE_COLL_ALL2ALL;
    case RegionRole::kCollOther:
      return OTF2_REGION_ROLE_COLL_OTHER;
    case RegionRole::kFileIo:
      return OTF2_REGION_ROLE_FILE_IO;
    case RegionRole::kRma:
      return OTF2_REGION_ROLE_RMA;
    case RegionRole::kDataTransfer:
      return OTF2_REGION_ROLE_DATA_TRANSFER;
    case RegionRole::kArtificial:
      return OTF2_REGION_ROLE_ARTIFICIAL;
    case RegionRole::kCode:
      return OTF2_REGION_ROLE_CODE;
  }
  return OTF2_REGION_ROLE_UNKNOWN;
}

OTF2_Paradigm otf2_paradigm(Paradigm paradigm) {
  switch (paradigm) {
    case Paradigm::kUser:
      return OTF2_PARADIGM_USER;
    case Paradigm::kMpi:
      return OTF2_PARADIGM_MPI;
    case Paradigm::kMeasurement:
      return OTF2_PARADIGM_MEASUREMENT_SYSTEM;
  }
  return OTF2_PARADIGM_UNKNOWN;
}

OTF2_IoAccessMode otf2_access_mode(std::uint16_t mode) {
  if ((mode & kFileModeWrite) == 0) return OTF2_IO_ACCESS_MODE_READ_ONLY;
  return (mode & kFileModeRead) == 0 ? OTF2_IO_ACCESS_MODE_WRITE_ONLY
                                     : OTF2_IO_ACCESS_MODE_READ_WRITE;
}

OTF2_IoCreationFlag otf2_creation_flags(std::uint16_t mode) {
  unsigned flags = OTF2_IO_CREATION_FLAG_NONE;
  if ((mode & kFileModeCreate) != 0) flags |= OTF2_IO_CREATION_FLAG_CREATE;
  if ((mode & kFileModeExclusive) != 0) flags |= OTF2_IO_CREATION_FLAG_EXCLUSIVE;
  if ((mode & kFileModeSequential) != 0) flags |= OTF2_IO_CREATION_FLAG_NO_SEEK;
  if ((mode & kFileModeUniqueOpen) != 0) flags |= OTF2_IO_CREATION_FLAG_UNIQUE;
  return flags;
}

OTF2_IoStatusFlag otf2_status_flags(std::uint16_t mode) {
  unsigned flags = OTF2_IO_STATUS_FLAG_NONE;
  if ((mode & kFileModeAppend) != 0) flags |= OTF2_IO_STATUS_FLAG_APPEND;
  if ((mode & kFileModeDeleteOnClose) != 0) flags |= OTF2_IO_STATUS_FLAG_DELETE_ON_CLOSE;
  return flags;
}

OTF2_IoSeekOption otf2_seek_option(SeekFrom from) {
  switch (from) {
    case SeekFrom::kStart:
      return OTF2_IO_SEEK_FROM_START;
    case SeekFrom::kCurrent:
      return OTF2_IO_SEEK_FROM_CURRENT;
    case SeekFrom::kEnd:
      return OTF2_IO_SEEK_FROM_END;
  }
  return OTF2_IO_SEEK_FROM_START;
}

std::uint32_t otf2_root(std::int32_t root) {
  if (root == kSelfRoot) return OTF2_COLLECTIVE_ROOT_SELF;
  if (root == kProcNullRoot) return OTF2_COLLECTIVE_ROOT_THIS_GROUP;
  return root < 0 ? static_cast<std::uint32_t>(OTF2_COLLECTIVE_ROOT_NONE)
                  : static_cast<std::uint32_t>(root);
}

}  // namespace megascope::otf2
