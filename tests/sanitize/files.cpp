#include "tests/sanitize/parts.h"

#include <array>

namespace megascope::sanitize {
namespace {

constexpr int kInts = 16;
constexpr int kBytes = kInts * static_cast<int>(sizeof(int));
using Ints = std::array<int, kInts>;

/// A call that moves kBytes, or `moved`, as its row says.
#define READ(ledger, name, ...) \
  (ledger).read("MPI_File_" #name, CALL(ledger, File_##name, __VA_ARGS__), kBytes)
#define WRITE(ledger, name, ...) \
  (ledger).wrote("MPI_File_" #name, CALL(ledger, File_##name, __VA_ARGS__), kBytes)

void ask(Ledger& ledger, MPI_File file) {
  MPI_Offset size = 0;
  CALL(ledger, File_set_size, file, 0);
  CALL(ledger, File_preallocate, file, 4 * kBytes);
  CALL(ledger, File_get_size, file, &size);
  int value = 0;
  CALL(ledger, File_set_atomicity, file, 0);
  CALL(ledger, File_get_atomicity, file, &value);
  CALL(ledger, File_get_amode, file, &value);
  MPI_Group group;
  CALL(ledger, File_get_group, file, &group);
  CALL(ledger, Group_free, &group);
  MPI_Info info;
  CALL(ledger, File_get_info, file, &info);
  CALL(ledger, File_set_info, file, info);
  CALL(ledger, Info_free, &info);
  CALL(ledger, File_set_view, file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  MPI_Offset begin = 0;
  MPI_Datatype etype;
  MPI_Datatype filetype;
  std::array<char, MPI_MAX_DATAREP_STRING> datarep;
  CALL(ledger, File_get_view, file, &begin, &etype, &filetype, datarep.data());
  MPI_Aint extent = 0;
  CALL(ledger, File_get_type_extent, file, MPI_INT, &extent);
  CALL(ledger, File_get_byte_offset, file, 3, &begin);
  MPI_Errhandler handler;
  CALL(ledger, File_get_errhandler, file, &handler);
  CALL(ledger, File_set_errhandler, file, handler);
  CALL(ledger, Errhandler_free, &handler);
}

void move_at_once(Ledger& ledger, Place place, MPI_File file) {
  Ints ints{};
  const MPI_Offset mine = place.rank * kBytes;
  WRITE(ledger, write_at, file, mine, ints.data(), kInts, MPI_INT, MPI_STATUS_IGNORE);
  READ(ledger, read_at, file, mine, ints.data(), kInts, MPI_INT, MPI_STATUS_IGNORE);
  WRITE(ledger, write_at_all, file, mine, ints.data(), kInts, MPI_INT, MPI_STATUS_IGNORE);
  READ(ledger, read_at_all, file, mine, ints.data(), kInts, MPI_INT, MPI_STATUS_IGNORE);
  CALL(ledger, File_seek, file, mine, MPI_SEEK_SET);
  WRITE(ledger, write, file, ints.data(), kInts, MPI_INT, MPI_STATUS_IGNORE);
  CALL(ledger, File_seek, file, -kBytes, MPI_SEEK_CUR);
  READ(ledger, read, file, ints.data(), kInts, MPI_INT, MPI_STATUS_IGNORE);
  MPI_Offset position = 0;
  CALL(ledger, File_get_position, file, &position);
  CALL(ledger, File_seek, file, mine, MPI_SEEK_SET);
  WRITE(ledger, write_all, file, ints.data(), kInts, MPI_INT, MPI_STATUS_IGNORE);
  CALL(ledger, File_seek, file, mine, MPI_SEEK_SET);
  READ(ledger, read_all, file, ints.data(), kInts, MPI_INT, MPI_STATUS_IGNORE);
  CALL(ledger, File_sync, file);
}

void move_by_the_shared_pointer(Ledger& ledger, MPI_Comm comm, MPI_File file) {
  Ints ints{};
  const auto rewind = [&] {
    CALL(ledger, Barrier, comm);
    CALL(ledger, File_seek_shared, file, 0, MPI_SEEK_SET);
  };
  rewind();
  WRITE(ledger, write_shared, file, ints.data(), kInts, MPI_INT, MPI_STATUS_IGNORE);
  rewind();
  READ(ledger, read_shared, file, ints.data(), kInts, MPI_INT, MPI_STATUS_IGNORE);
  rewind();
  WRITE(ledger, write_ordered, file, ints.data(), kInts, MPI_INT, MPI_STATUS_IGNORE);
  rewind();
  READ(ledger, read_ordered, file, ints.data(), kInts, MPI_INT, MPI_STATUS_IGNORE);
  MPI_Offset position = 0;
  CALL(ledger, File_get_position_shared, file, &position);
  rewind();
}

void move_in_two_steps(Ledger& ledger, Place place, MPI_File file) {
  Ints ints{};
  const MPI_Offset mine = place.rank * kBytes;
  CALL(ledger, File_write_at_all_begin, file, mine, ints.data(), kInts, MPI_INT);
  WRITE(ledger, write_at_all_end, file, ints.data(), MPI_STATUS_IGNORE);
  CALL(ledger, File_read_at_all_begin, file, mine, ints.data(), kInts, MPI_INT);
  READ(ledger, read_at_all_end, file, ints.data(), MPI_STATUS_IGNORE);
  CALL(ledger, File_seek, file, mine, MPI_SEEK_SET);
  CALL(ledger, File_write_all_begin, file, ints.data(), kInts, MPI_INT);
  WRITE(ledger, write_all_end, file, ints.data(), MPI_STATUS_IGNORE);
  CALL(ledger, File_seek, file, mine, MPI_SEEK_SET);
  CALL(ledger, File_read_all_begin, file, ints.data(), kInts, MPI_INT);
  READ(ledger, read_all_end, file, ints.data(), MPI_STATUS_IGNORE);
  CALL(ledger, File_write_ordered_begin, file, ints.data(), kInts, MPI_INT);
  WRITE(ledger, write_ordered_end, file, ints.data(), MPI_STATUS_IGNORE);
  CALL(ledger, File_seek_shared, file, 0, MPI_SEEK_SET);
  CALL(ledger, File_read_ordered_begin, file, ints.data(), kInts, MPI_INT);
  READ(ledger, read_ordered_end, file, ints.data(), MPI_STATUS_IGNORE);
}

void wait(Ledger& ledger, MPI_Request& request, bool is_read) {
  const int rc = CALL(ledger, Wait, &request, MPI_STATUS_IGNORE);
  if (is_read)
    ledger.read("MPI_Wait", rc, kBytes);
  else
    ledger.wrote("MPI_Wait", rc, kBytes);
}

void move_by_requests(Ledger& ledger, Place place, MPI_Comm comm, MPI_File file) {
  Ints ints{};
  const MPI_Offset mine = place.rank * kBytes;
  MPI_Request request;
  CALL(ledger, File_iwrite_at, file, mine, ints.data(), kInts, MPI_INT, &request);
  wait(ledger, request, false);
  CALL(ledger, File_iread_at, file, mine, ints.data(), kInts, MPI_INT, &request);
  wait(ledger, request, true);
  CALL(ledger, File_iwrite_at_all, file, mine, ints.data(), kInts, MPI_INT, &request);
  wait(ledger, request, false);
  CALL(ledger, File_iread_at_all, file, mine, ints.data(), kInts, MPI_INT, &request);
  wait(ledger, request, true);
  CALL(ledger, File_seek, file, mine, MPI_SEEK_SET);
  CALL(ledger, File_iwrite, file, ints.data(), kInts, MPI_INT, &request);
  wait(ledger, request, false);
  CALL(ledger, File_iwrite_all, file, ints.data(), kInts, MPI_INT, &request);
  wait(ledger, request, false);
  CALL(ledger, File_seek, file, mine, MPI_SEEK_SET);
  CALL(ledger, File_iread, file, ints.data(), kInts, MPI_INT, &request);
  wait(ledger, request, true);
  CALL(ledger, File_seek, file, mine, MPI_SEEK_SET);
  CALL(ledger, File_iread_all, file, ints.data(), kInts, MPI_INT, &request);
  wait(ledger, request, true);
  CALL(ledger, Barrier, comm);
  CALL(ledger, File_seek_shared, file, 0, MPI_SEEK_SET);
  CALL(ledger, File_iwrite_shared, file, ints.data(), kInts, MPI_INT, &request);
  wait(ledger, request, false);
  CALL(ledger, Barrier, comm);
  CALL(ledger, File_seek_shared, file, 0, MPI_SEEK_SET);
  CALL(ledger, File_iread_shared, file, ints.data(), kInts, MPI_INT, &request);
  wait(ledger, request, true);
}

}  // namespace

void use_files(Ledger& ledger, Place place, MPI_Comm comm, const std::string& name) {
  MPI_File file;
  CALL(ledger, File_open, comm, name.c_str(), MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL,
       &file);
  ask(ledger, file);
  move_at_once(ledger, place, file);
  move_by_the_shared_pointer(ledger, comm, file);
  move_in_two_steps(ledger, place, file);
  move_by_requests(ledger, place, comm, file);
  CALL(ledger, File_close, &file);
  CALL(ledger, File_open, comm, (name + ".missing").c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  CALL(ledger, Barrier, comm);
  if (place.rank == 0) CALL(ledger, File_delete, name.c_str(), MPI_INFO_NULL);
}

void use_own_file(Ledger& ledger, MPI_Comm self, const std::string& name) {
  for (int round = 0; round < 20; ++round) {
    Ints ints{};
    MPI_File file;
    CALL(ledger, File_open, self, name.c_str(), MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL,
         &file);
    std::array<MPI_Request, 4> requests;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      CALL(ledger, File_iwrite_at, file, static_cast<MPI_Offset>(i) * kBytes, ints.data(), kInts,
           MPI_INT, &requests[i]);
    }
    const int rc = CALL(ledger, Waitall, 4, requests.data(), MPI_STATUSES_IGNORE);
    ledger.wrote("MPI_Waitall", rc, 4 * kBytes);
    READ(ledger, read_at, file, kBytes, ints.data(), kInts, MPI_INT, MPI_STATUS_IGNORE);
    CALL(ledger, File_close, &file);
  }
  CALL(ledger, File_delete, name.c_str(), MPI_INFO_NULL);
}

}  // namespace megascope::sanitize
