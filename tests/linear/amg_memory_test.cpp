// Whose memory the levels of amg and the vectors of its solver lie in.
#include <cstddef>
#include <string>

#include "solvers/linear/multigrid/amg.hpp"
#include "tests/catch.hpp"
#include "tests/linear/systems.hpp"
#include "whilst/linear/matrix_on_place.hpp"
#include "whilst/place_of_executor.hpp"
#include "whilst/whilst.hpp"

namespace {

using whilst::csr_matrix;
using whilst::index_type;
using whilst_test::executors;

/// The sum of the lines of that name.
index_type bytes_of(const whilst::memory_table& table, const std::string& name) {
  index_type all = 0;
  for (const whilst::memory_item& item : table.items)
    all += item.name == name ? static_cast<index_type>(item.bytes) : 0;
  return all;
}

}  // namespace

TEST_CASE("amg lends its solver what its set-up has left over, which counts once", "[linear][amg]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson3d:12").matrix;
  for (const std::string& executor : executors()) {
    if (executor == "resident") continue;  // has no room for amg
    CAPTURE(executor);
    const whilst::matrix_on_place<double> placed(A, whilst::place_of_executor(executor), true, "making amg");
    const auto M = whilst::make_amg<double>(placed.request(), /*symmetric=*/true, {});
    const index_type whole = M->bytes();
    whilst::linear_solver<double> solver(A, {.preconditioner = "amg", .executor = executor});
    const whilst::memory_table table = solver.memory();
    const index_type levels = bytes_of(table, "the levels of amg"),
                     arena = bytes_of(table, "controls") + bytes_of(table, "vectors and scalars");
    CHECK(arena >= 4 * A.rows() * index_type{sizeof(double)});
    CHECK(levels + (arena + 255) / 256 * 256 == whole);

    // Each piece once, and none that is not there.
    const auto* const one = static_cast<const std::byte*>(M->room_for(1000));
    const auto* const other = static_cast<const std::byte*>(M->room_for(1000));
    REQUIRE(one != nullptr);
    CHECK(other == one + 1024);
    CHECK(M->bytes() == whole - 2048);
    CHECK(M->room_for(static_cast<std::size_t>(whole)) == nullptr);
    CHECK(M->bytes() == whole - 2048);
  }
}

TEST_CASE("columns and their amg count what is lent once, too", "[linear][amg][columns]") {
  const csr_matrix<double> A = whilst::make_gallery<double>("poisson3d:12").matrix;
  const whilst::matrix_on_place<double> placed(A, whilst::place::host(), true, "making amg");
  const index_type whole = whilst::make_amg<double>(placed.request(), /*symmetric=*/true, {})->bytes();
  const whilst::columns_linear_solver<double> solver(A, 2, {.preconditioner = "amg", .executor = "host"});
  const whilst::memory_table table = solver.memory();
  const index_type arena = bytes_of(table, "controls") + bytes_of(table, "vectors and scalars");
  CHECK(arena >= 2 * 4 * A.rows() * index_type{sizeof(double)});
  CHECK(bytes_of(table, "the levels of amg") + (arena + 255) / 256 * 256 == whole);
}
