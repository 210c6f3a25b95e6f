#include "tests/sanitize/parts.h"

#include <array>

namespace megascope::sanitize {
namespace {

constexpr int kInts = 16;
constexpr int kBytes = kInts * static_cast<int>(sizeof(int));
using Ints = std::array<int, kInts>;

/// A call that moves kBytes, or `moved`, as its row says.
#define READ(book, name, ...) \
  (book).read("MPI_File_" #name, CALL(book, File_##name, __VA_ARGS__), kBytes)
#define WRITE(book, name, ...) \
  (book).wrote("MPI_File_" #name, CALL(book, File_##name, __VA_ARGS__), kBytes)

void ask(Book& book, MPI_File file) {
  MPI_Offset size = 0;
  CALL(book, File_set_size, file, 0);
  CALL(book, File_preallocate, file, 4 * kBytes);
  CALL(book, File_get_size, file, &size);
  int value = 0;
  CALL(book, File_set_atomicity, file, 0);
  CALL(book, File_get_atomicity, file, &value);
  CALL(book, File_get_amode, file, &value);
  MPI_Group group;
  CALL(book, File_get_group, file, &group);
  CALL(book, Group_free, &group);
  MPI_Info info;
  CALL(book, File_get_info, file, &info);
  CALL(book, File_set_info, file, info);
  CALL(book, Info_free, &info);
  CALL(book, File_set_view, file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  MPI_Offset begin = 0;
  MPI_Datatype etype;
  MPI_Datatype filetype;
  std::array<char, MPI_MAX_DATAREP_STRING> datarep;
  CALL(book, File_get_view, file, &begin, &etype, &filetype, datarep.data());
  MPI_Aint extent = 0;
  CALL(book, File_get_type_extent, file, MPI_INT, &extent);
  CALL(book, File_get_byte_offset, file, 3, &begin);
  MPI_Errhandler handler;
  CALL(book, File_get_errhandler, file, &handler);
  CALL(book, File_set_errhandler, file, handler);
  CALL(book, Errhandler_free, &handler);
}

void move_at_once(Book& book, Place place, MPI_File file) {
  Ints ints{};
  const MPI_Offset mine = place.rank * kBytes;
  WRITE(book, write_at, file, mine, ints.data(), kInts, MPI_INT, MPI_STATUS_IGNORE);
  READ(book, read_at, file, mine, ints.data(), kInts, MPI_INT, MPI_STATUS_IGNORE);
  WRITE(book, write_at_all, file, mine, ints.data(), kInts, MPI_INT, MPI_STATUS_IGNORE);
  READ(book, read_at_all, file, mine, ints.data(), kInts, MPI_INT, MPI_STATUS_IGNORE);
  CALL(book, File_seek, file, mine, MPI_SEEK_SET);
  WRITE(book, write, file, ints.data(), kInts, MPI_INT, MPI_STATUS_IGNORE);
  CALL(book, File_seek, file, -kBytes, MPI_SEEK_CUR);
  READ(book, read, file, ints.data(), kInts, MPI_INT, MPI_STATUS_IGNORE);
  MPI_Offset position = 0;
  CALL(book, File_get_position, file, &position);
  CALL(book, File_seek, file, mine, MPI_SEEK_SET);
  WRITE(book, write_all, file, ints.data(), kInts, MPI_INT, MPI_STATUS_IGNORE);
  CALL(book, File_seek, file, mine, MPI_SEEK_SET);
  READ(book, read_all, file, ints.data(), kInts, MPI_INT, MPI_STATUS_IGNORE);
  CALL(book, File_sync, file);
}

void move_by_the_shared_pointer(Book& book, MPI_Comm comm, MPI_File file) {
  Ints ints{};
  const auto rewind = [&] {
    CALL(book, Barrier, comm);
    CALL(book, File_seek_shared, file, 0, MPI_SEEK_SET);
  };
  rewind();
  WRITE(book, write_shared, file, ints.data(), kInts, MPI_INT, MPI_STATUS_IGNORE);
  rewind();
  READ(book, read_shared, file, ints.data(), kInts, MPI_INT, MPI_STATUS_IGNORE);
  rewind();
  WRITE(book, write_ordered, file, ints.data(), kInts, MPI_INT, MPI_STATUS_IGNORE);
  rewind();
  READ(book, read_ordered, file, ints.data(), kInts, MPI_INT, MPI_STATUS_IGNORE);
  MPI_Offset position = 0;
  CALL(book, File_get_position_shared, file, &position);
  rewind();
}

void move_in_two_steps(Book& book, Place place, MPI_File file) {
  Ints ints{};
  const MPI_Offset mine = place.rank * kBytes;
  CALL(book, File_write_at_all_begin, file, mine, ints.data(), kInts, MPI_INT);
  WRITE(book, write_at_all_end, file, ints.data(), MPI_STATUS_IGNORE);
  CALL(book, File_read_at_all_begin, file, mine, ints.data(), kInts, MPI_INT);
  READ(book, read_at_all_end, file, ints.data(), MPI_STATUS_IGNORE);
  CALL(book, File_seek, file, mine, MPI_SEEK_SET);
  CALL(book, File_write_all_begin, file, ints.data(), kInts, MPI_INT);
  WRITE(book, write_all_end, file, ints.data(), MPI_STATUS_IGNORE);
  CALL(book, File_seek, file, mine, MPI_SEEK_SET);
  CALL(book, File_read_all_begin, file, ints.data(), kInts, MPI_INT);
  READ(book, read_all_end, file, ints.data(), MPI_STATUS_IGNORE);
  CALL(book, File_write_ordered_begin, file, ints.data(), kInts, MPI_INT);
  WRITE(book, write_ordered_end, file, ints.data(), MPI_STATUS_IGNORE);
  CALL(book, File_seek_shared, file, 0, MPI_SEEK_SET);
  CALL(book, File_read_ordered_begin, file, ints.data(), kInts, MPI_INT);
  READ(book, read_ordered_end, file, ints.data(), MPI_STATUS_IGNORE);
}

void wait(Book& book, MPI_Request& request, bool is_read) {
  const int rc = CALL(book, Wait, &request, MPI_STATUS_IGNORE);
  if (is_read)
    book.read("MPI_Wait", rc, kBytes);
  else
    book.wrote("MPI_Wait", rc, kBytes);
}

void move_by_requests(Book& book, Place place, MPI_Comm comm, MPI_File file) {
  Ints ints{};
  const MPI_Offset mine = place.rank * kBytes;
  MPI_Request request;
  CALL(book, File_iwrite_at, file, mine, ints.data(), kInts, MPI_INT, &request);
  wait(book, request, false);
  CALL(book, File_iread_at, file, mine, ints.data(), kInts, MPI_INT, &request);
  wait(book, request, true);
  CALL(book, File_iwrite_at_all, file, mine, ints.data(), kInts, MPI_INT, &request);
  wait(book, request, false);
  CALL(book, File_iread_at_all, file, mine, ints.data(), kInts, MPI_INT, &request);
  wait(book, request, true);
  CALL(book, File_seek, file, mine, MPI_SEEK_SET);
  CALL(book, File_iwrite, file, ints.data(), kInts, MPI_INT, &request);
  wait(book, request, false);
  CALL(book, File_iwrite_all, file, ints.data(), kInts, MPI_INT, &request);
  wait(book, request, false);
  CALL(book, File_seek, file, mine, MPI_SEEK_SET);
  CALL(book, File_iread, file, ints.data(), kInts, MPI_INT, &request);
  wait(book, request, true);
  CALL(book, File_seek, file, mine, MPI_SEEK_SET);
  CALL(book, File_iread_all, file, ints.data(), kInts, MPI_INT, &request);
  wait(book, request, true);
  CALL(book, Barrier, comm);
  CALL(book, File_seek_shared, file, 0, MPI_SEEK_SET);
  CALL(book, File_iwrite_shared, file, ints.data(), kInts, MPI_INT, &request);
  wait(book, request, false);
  CALL(book, Barrier, comm);
  CALL(book, File_seek_shared, file, 0, MPI_SEEK_SET);
  CALL(book, File_iread_shared, file, ints.data(), kInts, MPI_INT, &request);
  wait(book, request, true);
}

}  // namespace

void use_files(Book& book, Place place, MPI_Comm comm, const std::string& name) {
  MPI_File file;
  CALL(book, File_open, comm, name.c_str(), MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
  ask(book, file);
  move_at_once(book, place, file);
  move_by_the_shared_pointer(book, comm, file);
  move_in_two_steps(book, place, file);
  move_by_requests(book, place, comm, file);
  CALL(book, File_close, &file);
  CALL(book, File_open, comm, (name + ".missing").c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  CALL(book, Barrier, comm);
  if (place.rank == 0) CALL(book, File_delete, name.c_str(), MPI_INFO_NULL);
}

void use_own_file(Book& book, MPI_Comm self, const std::string& name) {
  for (int round = 0; round < 20; ++round) {
    Ints ints{};
    MPI_File file;
    CALL(book, File_open, self, name.c_str(), MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL,
         &file);
    std::array<MPI_Request, 4> requests;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      CALL(book, File_iwrite_at, file, static_cast<MPI_Offset>(i) * kBytes, ints.data(), kInts,
           MPI_INT, &requests[i]);
    }
    const int rc = CALL(book, Waitall, 4, requests.data(), MPI_STATUSES_IGNORE);
    book.wrote("MPI_Waitall", rc, 4 * kBytes);
    READ(book, read_at, file, kBytes, ints.data(), kInts, MPI_INT, MPI_STATUS_IGNORE);
    CALL(book, File_close, &file);
  }
  CALL(book, File_delete, name.c_str(), MPI_INFO_NULL);
}

}  // namespace megascope::sanitize
