// Ranks as processes: what the threads of a group do in Whilst's own tests, over MPI.

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include <whilst/csr_matrix.hpp>
#include <whilst/error.hpp>
#include <whilst/gallery.hpp>
#include <whilst/group.hpp>
#include <whilst/mpi.hpp>

namespace {

int failures = 0;

void check(bool is_so, const std::string& what) {
  if (is_so) return;
  ++failures;
  std::fprintf(stderr, "wrong: %s\n", what.c_str());
}

template <class Work>
std::string message_of(const Work& work) {
  try {
    work();
  } catch (const std::exception& problem) {
    return problem.what();
  }
  return {};
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

template <class T>
void check_product(const whilst::group& ranks, const std::string& problem) {
  const whilst::csr_matrix<T> A = whilst::make_gallery<T>(problem).matrix;
  std::vector<T> x, serial;
  for (whilst::index_type i = 0; i < A.rows(); ++i) x.push_back(T(1) / static_cast<T>(i + 3));
  for (whilst::index_type i = 0; i < A.rows(); ++i) {
    T sum = 0;
    for (auto k = static_cast<std::size_t>(A.row_offset(i)); k < static_cast<std::size_t>(A.row_offset(i + 1)); ++k)
      sum += A.values()[k] * x[static_cast<std::size_t>(A.column_indices()[k])];
    serial.push_back(sum);
  }
  const auto split = whilst::distributed_csr_matrix<T>::from_rank_0(ranks, ranks.rank() == 0 ? &A : nullptr);
  const auto first = static_cast<std::size_t>(split.partition().first(ranks.rank()));
  const auto rows = static_cast<std::size_t>(split.partition().rows_of(ranks.rank()));
  const std::vector<T> y = split.multiply(std::span<const T>(x).subspan(first, rows));
  check(ranks.template all_gather<T>("the product", y).all == serial, "the product with " + problem);
}

void run(const whilst::group& ranks) {
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check(ranks.rank() == rank && ranks.size() == size, "rank and size");

  check_product<double>(ranks, "poisson3d:5");
  check_product<float>(ranks, "powerlaw:200");

  // Pieces of different lengths, none from rank 0.
  const auto all = ranks.all_gather<int>("ranks", std::vector<int>(static_cast<std::size_t>(rank), rank));
  for (int q = 0; q < size; ++q)
    check(std::ranges::equal(all.of(q), std::vector<int>(static_cast<std::size_t>(q), q)), "what all gave");

  const int last = size - 1;
  const std::string failed = message_of([&] {
    ranks.agree("working", [&] {
      if (rank == last) throw std::runtime_error("on purpose");
    });
  });
  check(failed == (rank == last ? "on purpose" : "working: rank " + std::to_string(last) + " failed: on purpose"),
        failed);
  ranks.barrier();
}

void differ(const whilst::group& ranks) {
  if (ranks.size() == 1) return;
  const std::string differing = message_of([&] { ranks.barrier(ranks.rank() == 0 ? "here" : "there"); });
  check(has(differing, "rank 0 called \"here\"") && has(differing, "rank 1 \"there\""), differing);
  check(has(message_of([&] { ranks.barrier(); }), "the group is broken"), "a broken group");
}

void give_up(const whilst::group& ranks) {
  if (ranks.size() == 1) return;
  if (ranks.rank() == 1)
    ranks.fail("out of paper");
  else
    check(has(message_of([&] { ranks.barrier("printing"); }), "printing: rank 1 failed: out of paper"), "who gave up");
}

}  // namespace

int main(int argc, char** argv) {
  check(has(message_of([] { (void)whilst::mpi_group(MPI_COMM_WORLD); }), "Call MPI_Init before"), "before MPI_Init");
  MPI_Init(&argc, &argv);
  run(whilst::mpi_group(MPI_COMM_WORLD));
  differ(whilst::mpi_group(MPI_COMM_WORLD));
  give_up(whilst::mpi_group(MPI_COMM_WORLD));
  int all_failures = 0;
  MPI_Allreduce(&failures, &all_failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all_failures == 0 ? 0 : 1;
}
