//! Rows: elements that change places.

structured! {
    ROLL, "roll", Element, Keep, Element, "The elements moved along dimensions, those that leave at one end entering at the other.";
}
