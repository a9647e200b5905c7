//! Rows: matrix products.

structured! {
    MATMUL, "matmul", Element, Lower, Element, "The product of two matrices, of vectors with them, or of each pair of several.";
    MM, "mm", Element, Lower, Element, "The product of two matrices.";
    BMM, "bmm", Element, Lower, Element, "The product of each pair of two lists of matrices.";
    MV, "mv", Element, Lower, Element, "The product of a matrix and a vector.";
    DOT, "dot", Element, Lower, Element, "The sum of the products of two vectors.";
    VDOT, "vdot", Element, Lower, Element, "The sum of the products of two vectors, the first conjugated.";
    INNER, "inner", Element, Lower, Element, "The sums of products along the last dimensions.";
    OUTER, "outer", Element, Lower, Element, "The products of each element of a vector with each of another.";
    ADDMM, "addmm", Element, Lower, Element, "A tensor plus the product of two matrices.";
    ADDMV, "addmv", Element, Lower, Element, "A tensor plus the product of a matrix and a vector.";
    BADDBMM, "baddbmm", Element, Lower, Element, "A tensor plus the product of each pair of two lists of matrices.";
    ADDBMM, "addbmm", Element, Lower, Element, "A tensor plus the sum of the products of pairs of two lists of matrices.";
    ADDR, "addr", Element, Lower, Element, "A tensor plus the products of each element of a vector with each of another.";
    TENSORDOT, "tensordot", Element, Lower, Element, "The sums of products along several dimensions of two tensors.";
    KRON, "kron", Element, Lower, Element, "The products of each element of a tensor with the whole of another.";
    EINSUM, "einsum", Element, Lower, Element, "Sums of products of any tensors, along indices that an equation names.";
    MULTI_DOT, "multi_dot", Element, Lower, Element, "The product of several matrices, in the cheapest order.";
    LINEAR, "linear", Element, Lower, Element, "A layer of a network: the product with the transposed weight, plus a bias.";
    BILINEAR, "bilinear", Element, Lower, Element, "A bilinear form of two inputs per row of the weight, plus a bias.";
    ATTENTION, "scaled_dot_product_attention", Element, Lower, Float, "The values, weighted by the softmax of the products of queries and keys.";
}
