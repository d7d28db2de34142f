/// whilst as a namespace that a program uses whole, beside the global functions of POSIX.

#include <strings.h>
#include <unistd.h>

#include "tests/catch.hpp"
#include "whilst/whilst.hpp"

using namespace whilst;

TEST_CASE("using namespace whilst collides with no name of <strings.h> and <unistd.h>", "[names]") {
  const index_type n = 3;
  const csr_matrix<double> A = make_gallery<double>("poisson1d:3").matrix;
  CHECK(A.rows() == n);
  CHECK(*::index("a", 'a') == 'a');
  CHECK(*index("ba", 'a') == 'a');
  CHECK(::getpid() == getpid());
}
